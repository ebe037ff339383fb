"""A real kube-apiserver for tests, beside a server of this project on one etcd.

The binary is that of ``$KUBETRIO_KUBE_APISERVER``, or the one on the path.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kubetrio.testing.etcd import free_ports

VARIABLE = "KUBETRIO_KUBE_APISERVER"
MISSING = f"no kube-apiserver: set {VARIABLE} to a binary, or put one on the path"
TOKEN = "token-of-tests"  # noqa: S105  (of a server that lives as long as a test)
START_TRIES = 1200  # of 50 ms
STOP_TIMEOUT_S = 30.0
Json = dict[str, Any]


class NotStarted(Exception):
    """The server ended, or did not become ready in time; the text is what it printed."""


class Answer(NamedTuple):
    """An answer; status 0 where there is none."""

    status: int
    body: Any


class HasConnection(Protocol):
    """A server that connections can be opened to."""

    def connection(self) -> HTTPConnection:
        """Return a connection of an administrator."""
        ...

    @property
    def headers(self) -> dict[str, str]:
        """Headers of each request."""
        ...


def binary() -> str | None:
    """Return the path of kube-apiserver, None where there is none."""
    return os.environ.get(VARIABLE) or shutil.which("kube-apiserver")


@dataclass(frozen=True, slots=True)
class KubeApiServer:
    """A kube-apiserver that runs; made by `kube_apiserver`.

    Args:
        process: the process.
        port: where it listens.
        folder: of its certificate and its log.
    """

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    @property
    def headers(self) -> dict[str, str]:
        """Headers of each request: an administrator's token."""
        return {"Authorization": f"Bearer {TOKEN}"}

    def connection(self) -> HTTPConnection:
        """Return a connection to it."""
        context = ssl.create_default_context(cafile=str(self.folder / "certs" / "apiserver.crt"))
        return HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)

    @property
    def ready(self) -> bool:
        """Whether it says that it is ready."""
        try:
            return ask(self, "GET", "/readyz").status == 200
        except (OSError, HTTPException):
            return False


def ask(
    server: HasConnection,
    method: str,
    path: str,
    body: Any = None,
    content_type: str = "application/json",
) -> Answer:
    """Ask as administrator, on a connection of its own."""
    with closing(server.connection()) as connection:
        return ask_on(connection, server.headers, method, path, body, content_type)


def ask_on(
    connection: HTTPConnection,
    headers: Mapping[str, str],
    method: str,
    path: str,
    body: Any = None,
    content_type: str = "application/json",
) -> Answer:
    """Ask on a connection, which stays open."""
    data = None if body is None else json.dumps(body)
    more = {"Content-Type": content_type, "Accept": "application/json"}
    connection.request(method, path, data, {**headers, **more})
    response = connection.getresponse()
    text = response.read()
    return Answer(response.status, json.loads(text) if text.startswith(b"{") else text.decode())


def _write_keys(folder: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "sa.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    (folder / "sa.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


@contextmanager
def kube_apiserver(folder: Path, etcd_url: str, *flags: str) -> Iterator[KubeApiServer]:
    """A kube-apiserver on an etcd, as long as the block lasts.

    Args:
        folder: for keys, certificates and its log.
        etcd_url: where etcd is.
        flags: further flags.

    Raises:
        NotStarted: there is no kube-apiserver, or it does not start.
    """
    program = binary()
    if program is None:
        raise NotStarted(MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    _write_keys(folder)
    (folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n")
    [port] = free_ports(1)
    command = [
        *(program, "--etcd-servers", etcd_url, "--secure-port", str(port)),
        *("--bind-address", "127.0.0.1", "--cert-dir", str(folder / "certs")),
        *("--service-account-issuer", "https://kubernetes.default.svc"),
        *("--service-account-key-file", str(folder / "sa.pub")),
        *("--service-account-signing-key-file", str(folder / "sa.key")),
        *("--token-auth-file", str(folder / "tokens.csv"), "--authorization-mode", "RBAC"),
        *("--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none"),
        *flags,
    ]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  (the kube-apiserver that the tester names)
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    server = KubeApiServer(process, port, folder)
    try:
        _wait_ready(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(server: KubeApiServer) -> None:
    for _ in range(START_TRIES):
        if server.ready:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(timeout=0.05)
            break
    raise NotStarted((server.folder / "log").read_text(errors="replace")[-8000:])
