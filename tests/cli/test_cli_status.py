"""The command `status`."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio

from kubetrio.cli.running import (
    Found,
    Record,
    State,
    failing_checks,
    until,
)
from kubetrio.config import Config, Serving
from kubetrio.server import open_server
from kubetrio.tls import pki


async def test_waiting_ends_with_the_state_or_the_time(autojump_clock: trio.abc.Clock) -> None:
    """And says what was found last."""
    states = iter([State.STOPPED, State.UNKNOWN, State.READY, State.STOPPED])
    began = trio.current_time()
    assert (await until(lambda: Found(state=next(states)), State.READY, 5)).state is State.READY
    assert trio.current_time() - began < 1
    began = trio.current_time()
    waiting = Found(state=State.UNKNOWN, pid=7)
    assert await until(lambda: waiting, State.READY, 5) is waiting
    assert 5 <= trio.current_time() - began < 5.2


async def test_no_time_is_one_look() -> None:
    """Without a wait."""
    looks = []
    await until(lambda: looks.append(1) or Found(state=State.STOPPED), State.READY, 0)
    assert looks == [1]


async def test_a_running_server_is_asked_for_its_checks(tmp_path: Path) -> None:
    """It is ready, then one of them fails; another server at its address is not believed."""
    config = Config(data_dir=tmp_path / "data", serving=Serving(secure_port=0))
    async with open_server(config) as server:
        shown = server.shown()
        asked = Record(
            pid=1,
            url=server.url,
            since="",
            authority=shown.authority.decode(),
            certificate=str(server.pki.admin.cert),
            key=str(server.pki.admin.key),
        )
        assert await server.api.edge.env.run_blocking(failing_checks, asked) == ()
        server.state.stopping = True
        assert await server.api.edge.env.run_blocking(failing_checks, asked) == ("shutdown",)
        server.state.stopping = False
        other = pki.ensure(
            tmp_path / "other", now=server.api.edge.env.utcnow(), hosts=["127.0.0.1"]
        )
        foreign = Record(
            pid=1,
            url=server.url,
            since="",
            authority=other.ca.cert.read_text(),
            certificate=str(other.admin.cert),
            key=str(other.admin.key),
        )
        with pytest.raises(ssl.SSLError):
            await server.api.edge.env.run_blocking(failing_checks, foreign)
