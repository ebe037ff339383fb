"""A simulated kubelet with one pod, asked as the API server asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubetrio.backend.exchange import AnswerHead, Exchange, encode_head
from kubetrio.backend.spdy import DATA, SYN_REPLY, Session
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.kubelet import Kubelet
from kubetrio.simulation.podports import PodPorts

Object = dict[str, Any]
UPGRADE = ((b"upgrade", b"SPDY/3.1"), (b"connection", b"Upgrade"), (b"content-length", b"0"))
V4 = (b"x-stream-protocol-version", b"v4.channel.k8s.io")
Headers = Sequence[tuple[bytes, bytes]]


class Pods:
    """One pod that can change."""

    def __init__(self, ports: PodPorts | None = None, **annotations: str) -> None:
        self.ports = ports or PodPorts()
        self.pod: Object | None = {
            "metadata": {
                "name": "p", "namespace": "default", "uid": "u",
                "annotations": {f"simulation.kubetrio.io/{k}": v for k, v in annotations.items()},
            },
            "spec": {"containers": [{"name": "c"}]},
        }  # fmt: skip
        self.ended: list[tuple[str, int]] = []  # containers, and with which code
        self.state({"running": {"startedAt": "2026-01-01T00:00:00Z"}})

    def state(self, state: Object) -> None:
        """Have the container be in a state."""
        assert self.pod is not None
        self.pod["status"] = {"containerStatuses": [{"name": "c", "state": state}]}

    def reads_once(self, *, tty: bool = False) -> None:
        """Have the container read its standard input, until that ends."""
        assert self.pod is not None
        self.pod["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": True, "tty": tty}

    async def end(self, _: Object, container: str, code: int) -> None:
        """End the container."""
        self.ended.append((container, code))
        self.state({"terminated": {"exitCode": code}})

    async def find(self, namespace: str, name: str) -> Object | None:
        """The pod."""
        return self.pod if (namespace, name) == ("default", "p") else None

    async def ask(
        self, target: str, method: str = "GET", headers: Headers = ()
    ) -> tuple[Exchange, AnswerHead]:
        """An answer's head, and the connection."""
        here = Connection(Kubelet(self.find, self.ports, self.end))
        head = encode_head(method, target, [(b"host", b"node"), *headers])
        exchange = Exchange(here, method, head)
        return exchange, await exchange.head()

    async def body(self, target: str) -> tuple[int, bytes]:
        """Status and body of an answer."""
        exchange, head = await self.ask(target)
        body = b""
        while piece := await exchange.read():
            body += piece
        return head.status, body

    async def session(self, target: str, *headers: tuple[bytes, bytes]) -> Session:
        """A connection that has become SPDY."""
        exchange, head = await self.ask(target, "POST", (*UPGRADE, *headers))
        assert (head.status, head.get(b"upgrade")) == (101, b"SPDY/3.1")
        return Session(exchange.transport, exchange.rest)


async def said(session: Session) -> tuple[dict[int, bytes], set[int]]:
    """What each stream says until the end, and which were agreed to."""
    texts: dict[int, bytes] = {}
    replies = set()
    while frames := await session.receive():
        for frame in frames:
            if frame.kind == DATA:
                texts[frame.stream] = texts.get(frame.stream, b"") + frame.payload
            elif frame.kind == SYN_REPLY:
                replies.add(frame.stream)
    return texts, replies
