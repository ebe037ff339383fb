"""A peer over TLS that answers, lies, hangs or floods; and tokens of an issuer."""

from __future__ import annotations

import json
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from accounttokens import (
    World,
)
from issuers import ENV, Start

from kubetrio.auth.background import Background
from kubetrio.auth.claimmapping import Compiled
from kubetrio.auth.jwtconfig import ClaimSource, Issuer, JwtAuthenticator
from kubetrio.auth.oidc import OidcTokens
from kubetrio.auth.oidckeys import WELL_KNOWN, Fetcher
from kubetrio.auth.signed import ALGORITHMS
from kubetrio.env import Env
from kubetrio.outgoing.client import Outgoing
from kubetrio.tls import pki

Stream = trio.SSLStream[trio.SocketStream]
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Peer:
    """A server on an address of this machine.

    Attributes:
        answers: what it answers, by path; a function is given the head and the body.
        raw: serves connections in place of answers.
        asked: paths that were asked for, in order.
        heads: heads of these requests.
    """

    ca: str
    port: int = 0
    answers: dict[str, Answer | Callable[[bytes, bytes], Answer]] = field(default_factory=dict)
    raw: Callable[[Stream], Awaitable[None]] | None = None
    asked: list[str] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def say(self, path: str, value: object, status: int = 200, **headers: str) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.answers[path] = (status, named, body)

    async def serve(self, stream: Stream) -> None:
        try:
            if self.raw is not None:
                await self.raw(stream)
                return
            await self._requests(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            return

    async def _requests(self, stream: Stream) -> None:
        waiting = b""
        while True:
            while b"\r\n\r\n" not in waiting:
                got = await stream.receive_some(65536)
                if not got:
                    return
                waiting += got
            head, _, waiting = waiting.partition(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            while len(waiting) < length:
                waiting += await stream.receive_some(65536)
            body, waiting = waiting[:length], waiting[length:]
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            self.heads.append(head)
            answer = self.answers.get(path, (404, {}, b"nothing"))
            status, headers, said = answer(head, body) if callable(answer) else answer
            lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(said)}"]
            lines += [f"{name}: {text}" for name, text in headers.items()]
            await stream.send_all("\r\n".join(lines).encode() + b"\r\n\r\n" + said)


@pytest.fixture
async def peer(certificates: pki.Pki) -> AsyncIterator[Peer]:
    """A peer whose certificate is of the authority in `Peer.ca`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.serving.cert, certificates.serving.key)
    made = Peer(certificates.ca.cert.read_text())
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, made.serve, 0, context, host="127.0.0.1")
        )
        made.port = listeners[0].transport_listener.socket.getsockname()[1]
        yield made
        nursery.cancel_scope.cancel()


@pytest.fixture
async def outgoing() -> AsyncIterator[Outgoing]:
    """A client that is closed at the end."""
    made = Outgoing(Env())
    yield made
    await made.close()


def encoded(value: object) -> bytes:
    """A part of a token."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=")


class Signer:
    """A key that signs tokens.

    Args:
        algorithm: with which.
        kid: its name.
    """

    def __init__(self, algorithm: str = "ES256", kid: str = "k1") -> None:
        from joserfc.jwk import ECKey, RSAKey

        self.algorithm, self.kid = algorithm, kid
        curves = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
        self.key: Any = (
            ECKey.generate_key(curves[algorithm])
            if algorithm in curves
            else RSAKey.generate_key(2048)
        )

    def public(self) -> dict[str, Any]:
        return {**self.key.as_dict(private=False), "kid": self.kid}

    def sign(self, claims: dict[str, Any], **header: Any) -> bytes:
        from joserfc.jws import JWSRegistry

        shown = {"alg": self.algorithm, "kid": self.kid, **header}
        message = encoded(shown) + b"." + encoded(claims)
        method: Any = JWSRegistry.algorithms[self.algorithm]
        return message + b"." + encoded(method.sign(message, self.key))


@pytest.fixture
def make_signer() -> type[Signer]:
    """Makes keys that sign tokens."""
    return Signer


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def signer(make_signer: Any) -> Any:
    """The issuer's key."""
    return make_signer()


@pytest.fixture
async def start(peer: Any, outgoing: Outgoing, signer: Any) -> AsyncIterator[Start]:
    """Makes the tokens of the peer known; it has been discovered unless it cannot be."""
    peer.say(WELL_KNOWN, {"issuer": peer.url, "jwks_uri": f"{peer.url}/keys"})
    peer.say("/keys", {"keys": [signer.public()]})
    background = Background()

    async def made(*, ready: bool = True, env: Env = ENV, **given: Any) -> OidcTokens:
        algorithms = given.pop("algorithms", ALGORITHMS)
        issuer = {"url": peer.url, "audiences": ("client",), **given.pop("issuer", {})}
        given.setdefault("username", ClaimSource(claim="sub", prefix="p:"))
        config = JwtAuthenticator(issuer=Issuer(**issuer), **given)
        fetcher = Fetcher(outgoing, peer.url, peer.ca)
        tokens = OidcTokens(config, Compiled(), algorithms, fetcher, env, background)
        nursery.start_soon(tokens.provider.discover)
        with trio.fail_after(5):
            while ready and not tokens.provider.jwks_url:
                await tokens.provider.changed.wait()
        return tokens

    async with trio.open_nursery() as nursery:
        nursery.start_soon(background.run)
        await trio.testing.wait_all_tasks_blocked()
        yield made
        nursery.cancel_scope.cancel()
