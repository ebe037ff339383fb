"""Files of the pages: small, whole, and with a policy that lets nothing else in."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

import orjson

from kubetrio.testing.client import Client
from kubetrio.ui.assets import TYPES, load, sign_in_page

FOLDER = Path(__file__).parents[2] / "kubetrio" / "ui" / "assets"
MOST_BYTES = 300_000


def test_all_files_are_small_together() -> None:
    """Less than 300 KB, and each of a type that is served."""
    files = list(FOLDER.iterdir())
    assert {one.suffix[1:] for one in files} <= set(TYPES) - {"json"}
    assert sum(one.stat().st_size for one in files) < MOST_BYTES


def test_all_modules_come_in_one() -> None:
    """Each file of them, and the style beside, in one answer for a page with a token."""
    served = load()
    assert set(served) == {"index.html", "style.css", "icon.svg", "all.js", "all.json"}
    files = orjson.loads(served["all.json"].body)
    assert set(files) == {"all.js", "style.css"}
    for one in FOLDER.glob("*.js"):
        assert (f"const ${one.stem} = " in files["all.js"]) is (one.stem != "signin"), one
    assert files["style.css"] == (FOLDER / "style.css").read_text()
    assert files["all.js"] == served["all.js"].body.decode()


def test_nothing_makes_markup_of_text() -> None:
    """No script writes HTML, and none is made of a text."""
    for one in FOLDER.glob("*.js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc",
            one.read_text(),
        )
        assert found == [], one


def test_nothing_is_loaded_from_elsewhere() -> None:
    """Addresses of other servers are in no file; that of SVG is a name."""
    for one in FOLDER.iterdir():
        found = set(re.findall(r"https?://[^\s\"'`]+", one.read_text()))
        assert found <= {"http://www.w3.org/2000/svg"}, one


def test_the_policy_of_signing_in_names_what_is_inline() -> None:
    """The hashes are those of its one script and its one style; nothing else may run."""
    page = sign_in_page()
    text = page.body.decode()
    policy = page.policy.decode()
    for kind in ("script", "style"):
        [inside] = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"\son\w+=|style=|<link rel=.stylesheet|src=", text)


def test_the_page_has_nothing_inline() -> None:
    """Its scripts and styles are files of this server alone."""
    page = load()["index.html"]
    assert "unsafe" not in page.policy.decode()
    assert b"script-src 'self'; style-src 'self'" in page.policy
    assert b"frame-ancestors 'none'" in page.policy
    assert not re.search(rb"<script>|<style|\son\w+=|style=", page.body)


def test_a_queue_shows_that_it_executes_over_what_waits_in_it() -> None:
    """The fill is a child of the box, so a frame of the box itself would be under it."""
    rules = (FOLDER / "style.css").read_text()
    assert ".queues i.run::after" in rules
    assert ".queues i.run {" not in rules


async def test_a_file_that_is_known_is_not_sent_again(client: Client) -> None:
    """304 for its entity tag; all answers forbid frames and guesses of their type."""
    first = await client.request("GET", "/ui/all.js")
    assert first.status == 200
    assert first.head.get(b"content-type") == b"text/javascript; charset=utf-8"
    assert first.head.get(b"x-frame-options") == b"DENY"
    assert first.head.get(b"x-content-type-options") == b"nosniff"
    assert first.head.get(b"cache-control") == b"private, no-cache"
    tag = first.head.get(b"etag").decode()
    again = await client.request("GET", "/ui/all.js", {"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")


async def test_files_are_compressed_once(client: Client) -> None:
    """For who takes gzip, under an entity tag of its own; proxies are told what it depends on."""
    plain = await client.request("GET", "/ui/all.js")
    headers = {"Accept-Encoding": "gzip, deflate, br"}
    packed = await client.request("GET", "/ui/all.js", headers)
    assert packed.head.get(b"content-encoding") == b"gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.body == load()["all.js"].packed
    assert len(packed.body) < len(plain.body) / 3
    tags = [one.head.get(b"etag").decode() for one in (plain, packed)]
    assert tags[0] != tags[1]
    for one in (plain, packed):
        assert one.head.get(b"vary") == b"Accept-Encoding"
    again = await client.request("GET", "/ui/all.js", {**headers, "If-None-Match": tags[1]})
    assert (again.status, again.body) == (304, b"")
    other = await client.request("GET", "/ui/all.js", {**headers, "If-None-Match": tags[0]})
    assert other.status == 200
    page = await client.request("GET", "/ui/", headers)
    assert b"frame-ancestors 'none'" in page.head.get(b"content-security-policy")
