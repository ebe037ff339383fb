"""A server in the background: begun, asked, ended; and what a service manager has of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

COMMAND = (sys.executable, "-m", "kubetrio")
TIMEOUT_S = 60


class Place:
    """A data directory and what is said of it; what runs there ends with the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "kubetrio.log"

    def say(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, command, "--data-dir", str(self.directory), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )

    def detach(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.say("serve", "--detach", "--secure-port", "0", *arguments)

    def status(self) -> dict[str, object]:
        said = self.say("status", "--output", "json")
        return {**json.loads(said.stdout), "code": said.returncode}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "a b")
    yield made
    if made.directory.exists():
        assert made.say("stop").returncode == 0


def test_a_server_in_the_background_is_found_and_ended(place: Place) -> None:
    """The first screen and where its log is; a second one is refused; all commands agree."""
    begun = place.detach()
    assert begun.returncode == 0, begun.stderr
    lines = begun.stdout.splitlines()
    assert lines[0].startswith("kubetrio ")
    assert lines[-1] == f"kubetrio stop --data-dir '{place.directory}'  # ends it; log: {place.log}"
    found = place.status()
    assert (found["code"], found["state"], found["ready"]) == (0, "Ready", True)
    assert found["address"] == lines[0].rpartition(" ")[2]
    pid = int(str(found["pid"]))
    assert os.getsid(pid) == pid  # it outlives this terminal
    second = place.detach()
    assert second.returncode == 1
    assert second.stderr.startswith(
        f"kubetrio: data directory {place.directory} is in use by process {pid}, "
        f"a server at {found['address']} since "
    )
    assert f"kubetrio stop --data-dir '{place.directory}' ends it" in second.stderr
    assert place.status()["pid"] == pid
    ended = place.say("stop")
    assert (ended.returncode, ended.stdout) == (0, f"stopped: process {pid}\n")
    found = place.status()
    assert (found["code"], found["state"], found["pid"]) == (3, "Stopped", None)
    assert place.log.read_text().startswith(lines[0])
    assert place.say("stop").stdout == f"kubetrio is not running on {place.directory}\n"


def test_nobody_reads_where_the_server_is(place: Place) -> None:
    """As with ``| true``: it runs, and nothing else is said."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, "serve", "--detach", "--data-dir", str(place.directory)]
    begun = subprocess.run(
        [*command, "--secure-port", "0"],
        check=False,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
    )
    os.close(writing)
    assert (begun.returncode, begun.stderr) == (0, "")
    assert place.status()["state"] == "Ready"


def test_a_killed_server_does_not_run(place: Place) -> None:
    """What it left behind is not believed, and the next one starts over it."""
    assert place.detach().returncode == 0
    pid = int(str(place.status()["pid"]))
    os.kill(pid, signal.SIGKILL)
    waited = place.say("status", "--wait", "100ms")
    assert waited.returncode == 3, waited.stdout
    assert (place.directory / "kubetrio.running").exists()
    assert place.detach().returncode == 0
    assert place.status()["pid"] != pid


def test_a_server_that_stands_still_is_not_ended_in_time(place: Place) -> None:
    """``stop`` says so, and ``status`` that it does not answer."""
    assert place.detach().returncode == 0
    pid = int(str(place.status()["pid"]))
    os.kill(pid, signal.SIGSTOP)
    try:
        said = place.say("stop", "--timeout", "200ms")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert said.returncode == 1
    assert said.stderr.startswith(f"kubetrio: process {pid} was told to end and runs still")


def test_what_keeps_it_from_starting_is_one_line(place: Place) -> None:
    """With nothing written; or, in a directory that is there, with the log's place."""
    flags = ("--token-auth-file", "/nowhere/tokens")
    said = place.detach(*flags)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.count("\n") == 1
    assert "/nowhere/tokens" in said.stderr
    assert not place.directory.exists()
    place.directory.mkdir(mode=0o700)
    said = place.detach(*flags)
    assert said.stderr.endswith(f" (log: {place.log})\n")
    assert "/nowhere/tokens" in place.log.read_text()


ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3, inheritable=True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="https")
os.execv(sys.executable, [sys.executable, "-m", "kubetrio", "serve", *sys.argv[2:]])
"""


def test_a_service_manager_gives_the_socket_and_is_told(tmp_path: Path) -> None:
    """Clients that connect before the server runs are served; READY, WATCHDOG and STOPPING come."""
    address = str(tmp_path / "notify")
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        socket.create_connection(listening.getsockname()) as early,
    ):
        manager.bind(address)
        manager.settimeout(TIMEOUT_S)
        port = listening.getsockname()[1]
        data = tmp_path / "data"
        process = subprocess.Popen(
            [sys.executable, "-c", ACTIVATED, str(listening.fileno()), "--data-dir", str(data)],
            pass_fds=[listening.fileno()],
            env={**os.environ, "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = f"https://127.0.0.1:{port}"
            assert manager.recv(200).decode() == f"READY=1\nSTATUS=ready at {url}"
            assert [manager.recv(200) for _ in range(2)] == [b"WATCHDOG=1"] * 2
            assert f"server: {url}\n" in (data / "kubeconfig").read_text().replace('"', "")
            early.settimeout(TIMEOUT_S)
            context = ssl.create_default_context(cafile=str(data / "pki" / "ca.crt"))
            with context.wrap_socket(early, server_hostname="127.0.0.1") as sock:
                sock.sendall(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
                assert sock.recv(200).startswith(b"HTTP/1.1 200 ")
            process.send_signal(signal.SIGTERM)
            told = manager.recv(200)
            while told == b"WATCHDOG=1":
                told = manager.recv(200)
            assert told == b"STOPPING=1\nSTATUS=stopping"
            assert process.wait(TIMEOUT_S) == 0
        finally:
            process.kill()
            process.communicate()
