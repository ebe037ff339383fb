"""Another API server for aggregation: over TLS, answered by documents, or as badly as you like."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kubetrio.testing.backend import Answer, FakeBackend, ReceivedRequest, open_backend, tls_of
from kubetrio.tls.pki import Pki

Object = dict[str, Any]

GROUP = "agg.example"
NAME = f"v1.{GROUP}"
PATH = f"/apis/{GROUP}/v1"
HOST = "be.default.svc"
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "be"},
    "spec": {"type": "ExternalName", "externalName": "localhost"},
}
RESOURCES: Object = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/v1",
    "resources": [
        {
            "name": "things",
            "singularName": "thing",
            "namespaced": True,
            "kind": "Thing",
            "verbs": ["get", "list"],
            "shortNames": ["th"],
        },
        {
            "name": "things/status",
            "singularName": "",
            "namespaced": True,
            "kind": "Thing",
            "verbs": ["get"],
        },
    ],
}
THINGS: Object = {
    "kind": "ThingList",
    "apiVersion": f"{GROUP}/v1",
    "metadata": {},
    "items": [],
}


def api_service(port: int, ca: bytes | None, **spec: Any) -> Object:
    """An APIService that leads to the Service above.

    Args:
        port: of the Service.
        ca: authority of the server's certificate, PEM.
        **spec: further members of its spec.
    """
    bundle = {} if ca is None else {"caBundle": b64encode(ca).decode()}
    service = {"namespace": "default", "name": "be", "port": port}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "version": "v1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 10,
            "service": service,
            **bundle,
            **spec,
        },
    }


@dataclass(slots=True)
class OtherServer:
    """A listening server; made by `open_other`.

    Args:
        ca: authority of its certificate, PEM.
        documents: JSON documents by path.
        answers: what answers a path otherwise.
        backend: the socket, and what was asked.
    """

    ca: bytes
    documents: dict[str, object] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    backend: FakeBackend = field(init=False)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.backend.port

    def asked(self, path: str) -> list[ReceivedRequest]:
        """All requests for a path."""
        return [one for one in self.backend.asked if one.path == path]

    async def answer(self, asked: ReceivedRequest) -> None:
        """Answer a request."""
        answer = self.answers.get(asked.path)
        if answer is not None:
            await answer(asked)
            return
        document = self.documents.get(asked.path)
        status = 404 if document is None else 200
        body = json.dumps(document or {"kind": "Status", "apiVersion": "v1", "code": 404}).encode()
        await asked.reply(status, body, {"Content-Type": "application/json"})


@asynccontextmanager
async def open_other(made: Pki, *, ask: bool = False) -> AsyncIterator[OtherServer]:
    """Run a server for as long as the block lasts.

    Args:
        made: its certificate, for `HOST`, and authority.
        ask: whether clients must show a certificate of that authority.
    """
    other = OtherServer(made.ca.cert.read_bytes())
    other.documents |= {PATH: RESOURCES, f"{PATH}/things": THINGS}
    async with open_backend(other.answer, tls_of(made, ask=ask)) as backend:
        other.backend = backend
        yield other
