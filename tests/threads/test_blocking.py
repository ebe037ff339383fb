"""A server for the time of a block, or of a program: the start, failures, signals and the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading  # noqa: TID251  (who embeds a server has threads)
from dataclasses import replace
from pathlib import Path

import pytest
import trio

import kubetrio
from kubetrio import threads
from kubetrio.config import Config, Serving, Storage
from kubetrio.server.files import StartError
from kubetrio.store.errors import StoreError
from kubetrio.threads import NotRunning, ServerThread, in_thread


def make_config(data_dir: Path) -> Config:
    return Config(
        data_dir=data_dir,
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


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
