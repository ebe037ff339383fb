"""A small client of a kube-apiserver: one connection, one request at a time, plain answers."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from facts.documents import Json

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What the server said.

    Attributes:
        status: status code.
        body: its bytes.
    """

    status: int
    body: bytes

    def json(self) -> Json:
        """The body as a JSON object.

        Raises:
            ValueError: it is not JSON.
        """
        data: Json = json.loads(self.body)
        return data


@dataclass(frozen=True)
class Target:
    """Where a server is, and who asks.

    Attributes:
        url: such as ``https://127.0.0.1:6443``.
        token: bearer token, or empty.
        tls: how to check the server and, perhaps, who the client is; None for plain HTTP.
    """

    url: str
    token: str
    tls: ssl.SSLContext | None


def target(url: str, token: str = "", ca: str = "", *, insecure: bool = False) -> Target:
    """A server by its address.

    Args:
        url: address of the server.
        token: bearer token, or empty.
        ca: file with certificates that its own must be signed by; empty for those of the system.
        insecure: do not check its certificate.
    """
    tls = None
    if url.startswith("https:"):
        tls = ssl.create_default_context(cafile=ca or None)
        if insecure:
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return Target(url, token, tls)


def from_kubeconfig(path: Path) -> Target:
    """The server of the current context of a kubeconfig, with its certificates or token.

    Raises:
        KeyError: the current context, its cluster or its user is not there.
    """
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    made = target(
        cluster["server"],
        user.get("token", ""),
        insecure=cluster.get("insecure-skip-tls-verify", False),
    )
    if made.tls is not None:
        if authority := _bytes(cluster, "certificate-authority", path):
            made.tls.load_verify_locations(cadata=authority.decode())
        certificate, key = (
            _bytes(user, name, path) for name in ("client-certificate", "client-key")
        )
        if certificate:
            with tempfile.NamedTemporaryFile() as file:  # OpenSSL takes them from a file only
                file.write(certificate + b"\n" + key)
                file.flush()
                made.tls.load_cert_chain(file.name)
    return made


def _named(entries: list[Json], name: str) -> Json:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(name)


def _bytes(entry: Json, name: str, kubeconfig: Path) -> bytes:
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data)
    return (kubeconfig.parent / entry[name]).read_bytes() if name in entry else b""


class Client:
    """Requests to one server; a context manager that closes the connection."""

    def __init__(self, where: Target) -> None:
        """Do not connect yet."""
        parts = urlsplit(where.url)
        host, port = parts.hostname or "", parts.port
        self._connection = (
            http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
            if where.tls is None
            else http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=where.tls)
        )
        self._headers = {"User-Agent": "kubetrio-facts"}
        if where.token:
            self._headers["Authorization"] = f"Bearer {where.token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        user: str = "",
    ) -> Answer:
        """Send a request and read the whole answer.

        Args:
            method: ``GET`` and so on.
            path: path and query.
            body: value to send as JSON, or as a merge patch; None for no body.
            accept: media types that the answer may have.
            user: user to impersonate; empty for none.

        Raises:
            OSError: the server cannot be reached.
        """
        headers = self._headers | {"Accept": accept}
        if user:
            headers["Impersonate-User"] = user
        data = None
        if body is not None:
            data, headers["Content-Type"] = (
                json.dumps(body).encode(),
                ("application/merge-patch+json" if method == "PATCH" else "application/json"),
            )
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        return Answer(answer.status, answer.read())

    def get(self, path: str, *, accept: str = "application/json") -> Json:
        """The JSON object at a path.

        Raises:
            LookupError: the server answers anything but 200.
        """
        answer = self.request("GET", path, accept=accept)
        if answer.status != 200:
            raise LookupError(f"GET {path}: {answer.status} {answer.body.decode()[:300]}")
        return answer.json()
