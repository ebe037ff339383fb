"""The run of a server in a thread: results, a slow start, calls at the end."""

from __future__ import annotations

import gc
import threading  # noqa: TID251  (who embeds a server has threads)
import weakref

import pytest
import trio

from kubetrio.config import Config
from kubetrio.server.files import StartError
from kubetrio.threads import NotRunning, ServerRun, ServerThread, in_thread


def test_results_of_calls_are_let_go(shared: ServerThread) -> None:
    """A server that is called for weeks keeps none of them."""

    class Result:
        pass

    async def make() -> Result:
        return Result()

    left = weakref.ref(shared.call(make))
    gc.collect()
    assert left() is None


def test_a_start_that_takes_too_long_is_given_up(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the thread ends."""
    held = threading.Event()
    main = ServerRun._main

    async def slow(run: ServerRun) -> None:
        held.wait(10)
        await main(run)

    monkeypatch.setattr(ServerRun, "_main", slow)
    threading.Timer(0.5, held.set).start()
    with (
        pytest.raises(StartError, match=r"not ready within 0\.05 seconds"),
        in_thread(config, start_limit_s=0.05),
    ):
        pytest.fail("it did not start")
    assert held.is_set()


def test_a_call_under_way_when_the_server_ends(config: Config) -> None:
    """It is cancelled, and says so."""
    caught: list[BaseException] = []
    begun = threading.Event()

    async def long() -> None:
        begun.set()
        await trio.sleep_forever()

    def call(server: ServerThread) -> None:
        try:
            server.call(long)
        except NotRunning as error:
            caught.append(error)

    with in_thread(config) as server:
        thread = threading.Thread(target=call, args=(server,))
        thread.start()
        assert begun.wait(10)
    thread.join(10)
    assert len(caught) == 1
