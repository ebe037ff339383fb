"""Links of pages behind a proxy."""

from __future__ import annotations

import gzip
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.proxy.htmllinks import rewrite_coded, rewrite_links

MOST = 1024 * 1024


def moved(url: str) -> str:
    return "/proxy" + url if url.startswith("/") else url


@pytest.mark.parametrize(
    ("page", "rewritten"),
    [
        (b'<a href="/x">y</a>', b'<a href="/proxy/x">y</a>'),
        (b"<A\n HREF = '/x?a=1&amp;b=2' id=k>", b'<A\n HREF="/proxy/x?a=1&amp;b=2" id=k>'),
        (b"<img alt='/a' src=/x/>", b"<img alt='/a' src=\"/proxy/x/\">"),
        (b"<script src='/x.js'></script>", b'<script src="/proxy/x.js"></script>'),
        (b"<input formaction='/x' value='/y'/>", b"<input formaction=\"/proxy/x\" value='/y'/>"),
        (b"<a href='x'>", b"<a href='x'>"),
        (b"<p href='/x'>/x</p>", b"<p href='/x'>/x</p>"),
        (b"<script>'<a href=\"/x\">'</script>", b"<script>'<a href=\"/x\">'</script>"),
        (b"<!-- <a href='/x'> -->", b"<!-- <a href='/x'> -->"),
        ("ä\n<a href='/ä'>\xff".encode(), 'ä\n<a href="/proxy/ä">\xff'.encode()),
        (b"\xff\r\n<a href='/x'>\xfe", b'\xff\r\n<a href="/proxy/x">\xfe'),
    ],
)
def test_links_are_led_through_the_proxy(page: bytes, rewritten: bytes) -> None:
    """In attributes that are links, of tags that have them; all else stays."""
    assert rewrite_links(page, moved) == rewritten


@given(st.binary() | st.text(alphabet="<>ahref='\"/ =!-\n&;").map(str.encode))
def test_a_page_without_changes_stays_as_it_is(page: bytes) -> None:
    """Byte by byte, also what is not HTML."""
    assert rewrite_links(page, lambda url: url) == page


def deflated(page: bytes) -> bytes:
    writer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return writer.compress(page) + writer.flush()


def test_compressed_pages() -> None:
    """Are opened, and closed again."""
    page, there = b"<a href='/x'>", b'<a href="/proxy/x">'
    assert gzip.decompress(rewrite_coded(gzip.compress(page), "gzip", moved, MOST)) == there
    got = rewrite_coded(deflated(page), "deflate", moved, MOST)
    assert zlib.decompress(got, wbits=-zlib.MAX_WBITS) == there


@pytest.mark.parametrize(
    "body",
    [b"no gzip", gzip.compress(b"<a href='/x'>", mtime=0)[:-3], gzip.compress(bytes(MOST + 1))],
    ids=["no gzip", "cut off", "too large"],
)
def test_what_cannot_be_opened_stays(body: bytes) -> None:
    """Damaged, cut off, or a bomb."""
    assert rewrite_coded(body, "gzip", moved, MOST) == body


UNITS = (
    "<", "<a", "<a ", "<a b", "<a/", "<a href=", "<a href='", '<a href="x', "<a href=x ", "<!--",
    "<!", "</", "<script>", "<title>x", "<title></title", "< a=b", "&#1", "=", "'", "<a \n",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_pages_take_steps_in_proportion(unit: str) -> None:
    """A page ten times as long takes ten times as many calls."""
    steps: list[int] = []

    def count(frame: object, event: str, arg: object) -> None:
        steps[-1] += 1

    for size in (2_000, 20_000):
        page = (unit * (size // len(unit))).encode()
        steps.append(0)
        sys.setprofile(count)
        try:
            rewrite_links(page, moved)
        finally:
            sys.setprofile(None)
    assert steps[1] <= 11 * steps[0] + 100


@pytest.mark.parametrize(
    ("page", "rewritten"),
    [
        (b"<a href='/x' href=/y>", b'<a href="/proxy/x" href="/proxy/y">'),
        (b"<a title='<a href=/n>' href=/x>", b"<a title='<a href=/n>' href=\"/proxy/x\">"),
        (b"<TITLE><a href=/n></title><a href=x>", b"<TITLE><a href=/n></title><a href=x>"),
        (b"<TITLE></title><a href=/x>", b'<TITLE></title><a href="/proxy/x">'),
        (b"<style><a href=/n>", b"<style><a href=/n>"),
        (b"a < b <a href=/x>", b'a < b <a href="/proxy/x">'),
        (b"<a href=/x>1</a><a href='/y", b'<a href="/proxy/x">1</a><a href=\'/y'),
        (b"<a href='&#" + b"9" * 5000 + b";'>", b"<a href='&#" + b"9" * 5000 + b";'>"),
        (b"<a href=/x/>", b'<a href="/proxy/x/">'),
        (b"<?xml <a?><a href=/x>", b'<?xml <a?><a href="/proxy/x">'),
    ],
)
def test_tags_end_where_browsers_end_them(page: bytes, rewritten: bytes) -> None:
    """Quotes, raw text and what is cut off."""
    assert rewrite_links(page, moved) == rewritten
