"""A server in a process of its own, on any free port: for tests with sockets and signals."""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

START_TRIES = 400  # of 50 ms
STOP_TIMEOUT_S = 20.0


class NotStarted(Exception):
    """The server ended, or did not become ready in time; the text is what it printed."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A `kubetrio serve` that is ready; made by `start`.

    Args:
        process: the process.
        data_dir: its data directory.
        port: where it listens.
        log: what it prints.
    """

    process: subprocess.Popen[bytes]
    data_dir: Path
    port: int
    log: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.data_dir / "kubeconfig"

    def stop(self) -> int:
        """End it in order; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_TIMEOUT_S)

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=STOP_TIMEOUT_S)

    def connect(self) -> ssl.SSLSocket:
        """An administrator's HTTP/1.1 connection."""
        pki = self.data_dir / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=STOP_TIMEOUT_S)
        return context.wrap_socket(raw, server_hostname="127.0.0.1")


def arguments(data_dir: Path, *flags: str) -> list[str]:
    """The command line of a server on any free port."""
    command = [sys.executable, "-m", "kubetrio", "serve"]
    return [*command, "--data-dir", str(data_dir), "--secure-port", "0", *flags]


def start(data_dir: Path, log: Path, *flags: str) -> ServerProcess:
    """Start a server and wait until it is ready.

    Args:
        data_dir: its data directory.
        log: file for what it prints.
        flags: further flags.

    Raises:
        NotStarted: it ended, or took too long.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  (our own interpreter, our own module)
            arguments(data_dir, *flags),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    for _ in range(START_TRIES):
        text = log.read_text()
        if "kubectl get namespaces" in text:
            port = int(text.partition(" is ready at https://")[2].split()[0].rpartition(":")[2])
            return ServerProcess(process, data_dir, port, log)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
            break
    process.kill()
    process.wait()
    raise NotStarted(log.read_text())
