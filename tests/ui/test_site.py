"""``/ui/`` of a server: what there is, and who gets it."""

from __future__ import annotations

import subprocess
import sys

import orjson
import pytest

from kubetrio.machinery.identity import UserInfo
from kubetrio.observe.lasthour import Sample
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
READER = UserInfo("reader", groups=("readers",))
ROLE = {
    "metadata": {"name": "ui"},
    "rules": [{"nonResourceURLs": ["/ui/*"], "verbs": ["get"]}],
}
BINDING = {
    "metadata": {"name": "ui"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ui"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("path", "status", "begins"),
    [
        ("/ui", 301, b""),
        ("/ui/", 200, b"<!doctype html>"),
        ("/ui/style.css", 200, b":root"),
        ("/ui/about", 200, b"{"),
        ("/ui/lasthour", 200, b"{"),
        ("/ui/signin.js", 404, b"404"),
        ("/ui/main.js", 404, b"404"),
        ("/ui/moment", 200, b"{"),
        ("/ui/steps", 404, b"404"),
        ("/ui/nothing.js", 404, b"404"),
        ("/ui/../ui/all.js", 404, b"404"),
        ("/ui/%2e%2e/all.js", 404, b"404"),
    ],
)
async def test_paths(client: Client, path: str, status: int, begins: bytes) -> None:
    """Files by name, and nothing beside them."""
    answer = await client.request("GET", path)
    assert answer.status == status
    assert answer.body.startswith(begins)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_can_be_changed_there(client: Client, method: str) -> None:
    """What changes something goes over the Kubernetes API."""
    assert (await client.request(method, "/ui/about", {}, b"{}")).status == 405


async def test_a_stranger_gets_the_page_for_signing_in_and_nothing_else(
    server: InProcess,
) -> None:
    """A browser that opens the page; no file of it, no number, no version."""
    async with server.connect(certificate=None) as stranger:
        page = await stranger.request("GET", "/ui/", HTML)
        assert page.status == 200
        assert b"Sign in" in page.body
        assert b"frame-ancestors 'none'" in page.head.get(b"content-security-policy")
        for path in ("/ui/all.js", "/ui/about", "/ui/lasthour", "/ui/history/", "/ui/x"):
            assert (await stranger.request("GET", path, HTML)).status == 403, path
        assert (await stranger.request("GET", "/ui/")).status == 403
        assert (await stranger.request("POST", "/ui/", HTML, b"x")).status == 403


async def test_a_user_needs_the_right_to_get_the_paths(server: InProcess, client: Client) -> None:
    """403 as for any path, and the page with a role that names it."""
    async with server.connect(certificate=READER) as reader:
        assert (await reader.request("GET", "/ui/", HTML)).status == 403
        for kind, body in (("clusterroles", ROLE), ("clusterrolebindings", BINDING)):
            made = await client.request("POST", f"{RBAC}/{kind}", {}, orjson.dumps(body))
            assert made.status == 201
        assert (await reader.request("GET", "/ui/", HTML)).status == 200
        about = (await reader.request("GET", "/ui/about")).json()
        assert about["user"] == "reader"
        assert about["users"] is False


async def test_numbers_of_the_last_hour_are_columns(server: InProcess, client: Client) -> None:
    """One list for each number, all of one length."""
    empty = (await client.request("GET", "/ui/lasthour")).json()
    assert empty == {field: [] for field in Sample._fields}
    server.api.edge.metrics.hour.add(Sample(*range(10)))
    told = (await client.request("GET", "/ui/lasthour")).json()
    assert told == {field: [float(n)] for n, field in enumerate(Sample._fields)}


LAZY = """
import sys, trio
from kubetrio.testing.server import open_api
async def main():
    async with open_api(kept=True) as server, server.connect() as client:
        assert (await client.request("GET", "/api")).status == 200
        assert not [name for name in sys.modules if name.startswith("kubetrio.ui")]
        assert (await client.request("GET", "/ui/")).status == 200
        assert "kubetrio.ui.site" in sys.modules
trio.run(main)
"""


def test_nothing_of_it_is_loaded_before_it_is_asked_for() -> None:
    """A server that no browser looks at pays for none of it."""
    subprocess.run([sys.executable, "-c", LAZY], check=True)
