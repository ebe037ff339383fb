"""A server in a thread of its own: the start, calls, failures, and the end."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading  # noqa: TID251  (who embeds a server has threads)
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

import kubetrio
from kubetrio import threads
from kubetrio.config import Config, Serving, Storage
from kubetrio.machinery.status import ApiError
from kubetrio.server.files import StartError
from kubetrio.store.errors import StoreError
from kubetrio.threads import NotRunning, ServerRun, ServerThread, in_thread

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}


def make_config(data_dir: Path) -> Config:
    return Config(
        data_dir=data_dir,
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return make_config(tmp_path / "data")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerThread]:
    """One server for the tests that do not end it."""
    with in_thread(make_config(tmp_path_factory.mktemp("threads") / "data")) as server:
        yield server


def names(server: ServerThread, api_version: str, kind: str) -> list[str]:
    """Names of all objects of a kind."""

    async def ask() -> list[str]:
        client = server.server.client()
        found = await client.list(client.kind(api_version, kind))
        return [one["metadata"]["name"] for one in found.items]

    return server.call(ask)


def alive() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("kubetrio ")]


def test_it_serves_and_ends_in_order(config: Config) -> None:
    """Its port is open in the block and closed after it, and no thread is left."""
    with kubetrio.in_thread(config) as server:
        host, _, port = server.url.removeprefix("https://").rpartition(":")
        socket.create_connection((host, int(port)), timeout=10).close()
        assert server.kubeconfig()["clusters"]
        assert server.config is config
        assert "default" in names(server, "v1", "Namespace")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=10)
    assert not [name for name in alive() if name == "kubetrio own thread"]
    with in_thread(config) as again:  # the data directory is free
        assert again.url


def test_what_a_call_returns_and_raises_arrives_as_it_is(shared: ServerThread) -> None:
    """From the server's thread, under Trio."""

    async def where(number: int) -> tuple[int, str]:
        await trio.lowlevel.checkpoint()
        return number, threading.current_thread().name

    assert shared.call(where, 3) == (3, f"kubetrio {shared.config.name}")

    async def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        shared.call(fails)
    client = shared.server.client()
    with pytest.raises(ApiError) as refused:
        shared.call(client.get, client.kind("v1", "Pod"), "none", "default")
    assert refused.value.code == 404


def test_results_of_calls_are_let_go(shared: ServerThread) -> None:
    """A server that is called for weeks keeps none of them."""

    class Result:
        pass

    async def make() -> Result:
        return Result()

    left = weakref.ref(shared.call(make))
    gc.collect()
    assert left() is None


def test_a_server_that_cannot_start_says_so(config: Config, tmp_path: Path) -> None:
    """By one exception, as `open_server` would raise it."""
    (tmp_path / "file").write_text("")
    wrong = replace(config, data_dir=tmp_path / "file" / "data")
    with pytest.raises(StartError, match="cannot make --data-dir") as caught, in_thread(wrong):
        pytest.fail("it did not start")
    assert not isinstance(caught.value, BaseExceptionGroup)


def test_two_servers_run_beside_each_other_on_two_directories(
    shared: ServerThread, config: Config
) -> None:
    """Not on one: the second is told so, and the first serves on."""
    with in_thread(config) as other:
        assert other.url != shared.url
    with pytest.raises(StoreError), in_thread(shared.config):
        pytest.fail("it did not start")
    assert "default" in names(shared, "v1", "Namespace")


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


class Ours(Exception):
    """Raised by a test."""


def test_what_the_block_raises_leaves_it_as_it_is(config: Config) -> None:
    """And the server has ended."""
    with pytest.raises(Ours), in_thread(config) as server:
        raise Ours
    with pytest.raises(NotRunning):
        server.call(trio.sleep, 0)


def crash(server: ServerThread) -> None:
    """Have the run fail, not a call, and wait until it has."""

    async def fails() -> None:
        raise OSError("the disk")

    async def begin() -> None:
        assert server._run._running is not None
        server._run._running.nursery.start_soon(fails)

    server.call(begin)
    assert isinstance(server._run.ended.exception(10), OSError)


def crash_and_call(config: Config) -> None:
    with in_thread(config) as server:
        crash(server)
        with pytest.raises(NotRunning) as caught:
            server.call(trio.sleep, 0)
        assert isinstance(caught.value.__cause__, OSError)


def crash_and_raise(config: Config) -> None:
    with in_thread(config) as server:
        crash(server)
        raise Ours


def test_a_server_that_fails_is_told_when_the_block_is_left(config: Config) -> None:
    """By its one exception; a call in between is told why, too."""
    with pytest.raises(OSError, match="the disk"):
        crash_and_call(config)


def test_two_failures_are_both_told(config: Config) -> None:
    """That of the block and that of the server."""
    with pytest.raises(BaseExceptionGroup) as caught:
        crash_and_raise(config)
    assert [type(one) for one in caught.value.exceptions] == [Ours, OSError]


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


def test_the_clock_of_a_server_moves(shared: ServerThread) -> None:
    """What is written has the new time, and what has lived out its time is gone."""
    base = shared.snapshot()
    client = shared.server.client()
    shared.call(client.create, EVENT)
    shared.clock.move(seconds=3500)
    assert names(shared, "v1", "Event") == ["e"]
    shared.clock.move(seconds=200)
    assert names(shared, "v1", "Event") == []
    made = shared.call(client.create, EVENT)
    real = shared.server.api.edge.env.utcnow().isoformat()
    assert made["metadata"]["creationTimestamp"] > real
    shared.reset(base)
    made = shared.call(client.create, EVENT)
    assert made["metadata"]["creationTimestamp"][:10] == real[:10]
    shared.reset(base)
    assert names(shared, "v1", "Event") == []


def test_tokens_expire_when_the_clock_moves(shared: ServerThread) -> None:
    """Those of service accounts, asked for with a lifetime."""
    client = shared.server.client()
    spec = {"expirationSeconds": 600}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}

    async def token() -> str:
        made: dict[str, Any] = await client.create(
            {**body, "metadata": {"name": "default", "namespace": "default"}},
            subresource="token",
            name="default",
        )
        return str(made["status"]["token"])

    async def good(text: str) -> bool:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {},
            "spec": {"token": text},
        }
        made = await client.create(review)
        return bool(made["status"].get("authenticated"))

    base = shared.snapshot()
    text = shared.call(token)
    assert shared.call(good, text)
    shared.clock.move(seconds=500)
    assert shared.call(good, text)
    shared.clock.move(seconds=200)
    assert not shared.call(good, text)
    shared.reset(base)


PROGRAM = """
    import sys, signal, kubetrio
    from pathlib import Path
    from kubetrio.config import Config, Serving, Storage
    config = Config(
        data_dir=Path(sys.argv[1]),
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )
"""
IN_THREAD = """
    import threading
    try:
        with kubetrio.in_thread(config) as server:
            print("ready", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(3)
    finally:
        print("left", flush=True)
"""
RUN = """
    kubetrio.run(config, ready=lambda server: print("ready", flush=True))
    print("left", flush=True)
"""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("program", "number", "code", "printed"),
    [
        (IN_THREAD, signal.SIGINT, 3, ["interrupted", "left"]),
        (IN_THREAD, signal.SIGTERM, 128 + signal.SIGTERM, ["left"]),
        (RUN, signal.SIGINT, 0, ["left"]),
        (RUN, signal.SIGTERM, 0, ["left"]),
    ],
)
def test_signals_end_a_program_in_order(
    program: str, number: int, code: int, printed: list[str], tmp_path: Path
) -> None:
    """The store is closed as after an orderly stop."""
    text = textwrap.dedent(PROGRAM) + textwrap.dedent(program)
    process = subprocess.Popen(
        [sys.executable, "-c", text, str(tmp_path / "data")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, number)
        rest, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, rest.split()) == (code, printed)
    assert not (tmp_path / "data" / "kubetrio.head").exists()  # the note of an unclean stop


def test_the_package_costs_nothing_until_it_is_asked() -> None:
    """Nothing is imported by its import; a name it does not have is an error as usual."""
    code = "import kubetrio, sys; print('trio' in sys.modules, 'kubetrio.threads' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    assert kubetrio.run is threads.run
    with pytest.raises(AttributeError):
        _ = kubetrio.nothing  # type: ignore[attr-defined]
