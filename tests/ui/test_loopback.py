"""The door of ``kubetrio ui``: one browser on this machine, and no page of others."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.api.request import Request, by_name
from kubetrio.api.response import AnyResponse, Response
from kubetrio.env import seeded
from kubetrio.ui.assets import sign_in_page
from kubetrio.ui.loopback import LIFE_S, MOST_TRIES, Door

PORT = 4321
HOST = f"127.0.0.1:{PORT}"


def request(method: str, path: str, body: bytes = b"", **headers: str) -> Request:
    raw = [(b"host", HOST.encode())] if "host" not in headers else []
    raw += [(key.replace("_", "-").encode(), text.encode()) for key, text in headers.items()]

    async def read_body(_limit: int) -> bytes:
        await trio.lowlevel.checkpoint()
        return body

    return Request(method, path, "", by_name(raw), raw, read_body)


async def behind(asked: Request) -> AnyResponse:
    """What the door lets through."""
    await trio.lowlevel.checkpoint()
    return Response(200, asked.raw_path.encode())


async def made() -> Door:
    await trio.lowlevel.checkpoint()
    return Door(seeded(1), PORT, sign_in_page("once"), behind)


async def token(door: Door) -> str:
    answer: Any = await door.handle(request("POST", "/ui/once", door.code.encode()))
    assert answer.status == 200
    return str(answer.body.decode().split('"')[3])


async def test_a_code_is_exchanged_once() -> None:
    """For a token that opens the rest; the second who comes gets nothing."""
    door = await made()
    known = await token(door)
    assert len(known) == 64
    passed: Any = await door.handle(request("GET", "/api/v1", authorization=f"Bearer {known}"))
    assert passed.body == b"/api/v1"
    again: Any = await door.handle(request("POST", "/ui/once", door.code.encode()))
    assert again.status == 401


async def test_guessing_ends(autojump_clock: MockClock) -> None:
    """After some wrong codes, and after five minutes, the right one is none any more."""
    door = await made()
    for _ in range(MOST_TRIES):
        wrong: Any = await door.handle(request("POST", "/ui/once", b"0" * 40))
        assert wrong.status == 401
    late: Any = await door.handle(request("POST", "/ui/once", door.code.encode()))
    assert late.status == 401
    door = await made()
    await trio.sleep(LIFE_S + 1)
    late = await door.handle(request("POST", "/ui/once", door.code.encode()))
    assert late.status == 401


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/ui/", {}, 200),
        ("GET", "/", {}, 302),
        ("GET", "/ui/all.js", {}, 401),
        ("GET", "/api/v1/secrets", {}, 401),
        ("GET", "/api/v1/secrets", {"authorization": "Bearer "}, 401),
        ("GET", "/api/v1/secrets", {"authorization": "Bearer 0"}, 401),
        ("POST", "/api/v1/namespaces", {}, 401),
        ("GET", "/ui/", {"host": f"evil.example:{PORT}"}, 403),
        ("GET", "/ui/", {"host": "127.0.0.1"}, 403),
        ("GET", "/ui/", {"host": ""}, 403),
        ("GET", "/ui/", {"host": f"localhost:{PORT}"}, 200),
        ("GET", "/ui/", {"origin": "http://evil.example"}, 403),
        ("GET", "/ui/", {"origin": "null"}, 403),
        ("GET", "/ui/", {"origin": "http://127.0.0.1:1"}, 403),
        ("GET", "/ui/", {"sec_fetch_site": "cross-site"}, 403),
        ("GET", "/ui/", {"sec_fetch_site": "same-site"}, 403),
        (
            "GET", "/ui/",
            {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate",
             "sec_fetch_dest": "document"},
            200,
        ),
        (
            "GET", "/ui/",
            {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate",
             "sec_fetch_dest": "iframe"},
            403,
        ),
    ],
)  # fmt: skip
async def test_who_is_let_in(method: str, path: str, headers: dict[str, str], status: int) -> None:
    """Without the token a browser gets one page; pages of others and other names get nothing."""
    door = await made()
    answer: Any = await door.handle(request(method, path, **headers))
    assert answer.status == status
    assert not any(name.lower() == b"set-cookie" for name, _ in answer.headers)


async def test_the_token_does_not_help_pages_of_others() -> None:
    """Nor one that has been led here by a name."""
    door = await made()
    known = f"Bearer {await token(door)}"
    for headers in ({"origin": "http://evil.example"}, {"host": f"evil.example:{PORT}"}):
        answer: Any = await door.handle(
            request("GET", "/api/v1/secrets", authorization=known, **headers)
        )
        assert answer.status == 403
