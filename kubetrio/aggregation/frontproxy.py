"""This server as a front proxy: connections to other API servers, and who asks there.

The other server believes what headers say of the user, because of the client certificate that this
one shows.  So no such header of a client gets through.

Source: docs "Configure the Aggregation Layer" (authentication flow).
"""

from __future__ import annotations

import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

import trio

from kubetrio.aggregation.routes import Route
from kubetrio.backend.dial import (
    CONNECT_TIMEOUT_S,
    Dial,
    DialError,
    HandshakeError,
    Tls,
    addresses_of,
    join_host_port,
)
from kubetrio.backend.exchange import Exchange, encode_head
from kubetrio.env import Env
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.tls.certificates import believe
from kubetrio.tls.pki import KeyPair, PkiError
from kubetrio.transport import Transport

Headers = list[tuple[bytes, bytes]]

AGGREGATOR = UserInfo("system:kube-aggregator", groups=(MASTERS,))
"""User as which this server asks what there is; it may see everything."""
KEPT_CONTEXTS = 256
FRESH_S = 86400.0
"""Seconds after which the certificate is looked for again: it may have been renewed."""
NAMING = frozenset({b"x-remote-user", b"x-remote-uid", b"x-remote-group"})
NAMING_EXTRA = b"x-remote-extra-"
KEY_SAFE = "!#$&'*+-.^_`|~"  # of names of headers, beside letters and digits (RFC 9110, token)


class Unusable(Exception):
    """Certificates cannot be used, so there can be no connection to any server."""


class TooLarge(Exception):
    """An answer is larger than is taken."""


class Endpoint(NamedTuple):
    """Where a route leads to, now.

    Args:
        host: address or name.
        port: TCP port.
    """

    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL."""
        return join_host_port(self.host, str(self.port))


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer.

    Args:
        status: HTTP status code.
        media_type: of the body, with its parameters.
        etag: entity tag, empty if there is none.
        body: the bytes.
    """

    status: int
    media_type: str
    etag: str
    body: bytes


def names_user(header: bytes) -> bool:
    """Whether a header says who asks; some servers take an underscore for a dash."""
    name = header.lower().replace(b"_", b"-")
    return name in NAMING or name.startswith(NAMING_EXTRA)


def user_headers(user: UserInfo) -> Headers:
    """Headers that say who asks."""
    named = [(b"X-Remote-User", user.name.encode())]
    if user.uid:
        named.append((b"X-Remote-Uid", user.uid.encode()))
    named += [(b"X-Remote-Group", group.encode()) for group in user.groups]
    for key, values in sorted(user.extra.items()):
        name = b"X-Remote-Extra-" + quote(key, safe=KEY_SAFE).encode()
        named += [(name, value.encode()) for value in values]
    return named


class FrontProxy:
    """Connects to the servers of routes.

    Args:
        env: threads.
        dial: opens connections.
        resolve: finds the address of a Service, by namespace, name and port.
        identity: finds, or makes, the certificate that is shown; blocking.
    """

    def __init__(
        self,
        env: Env,
        dial: Dial,
        resolve: Callable[[str, str, int], Awaitable[tuple[str, int]]],
        identity: Callable[[], KeyPair],
    ) -> None:
        self._env = env
        self._dial = dial
        self._resolve = resolve
        self._identity = identity
        self._contexts: OrderedDict[tuple[bytes, bool], tuple[float, ssl.SSLContext]]
        self._contexts = OrderedDict()

    def reload(self) -> None:
        """Show another certificate from now on: its files changed."""
        self._contexts.clear()

    async def find(self, route: Route) -> Endpoint:
        """Where the server of a route is.

        Raises:
            Unresolved: nowhere.
        """
        return Endpoint(*await self._resolve(*route.server))

    async def connect(self, route: Route, server: Endpoint) -> Transport:
        """An open connection.

        Args:
            route: who must be there.
            server: where.

        Raises:
            DialError: no server answers there that is believed to be it.
            Unusable: this server's certificate, or the authorities, cannot be used.
        """
        tls = Tls(await self._context(route.ca, route.insecure), route.host)
        until = trio.current_time() + CONNECT_TIMEOUT_S
        problem = DialError(f"dial tcp {server.authority}: i/o timeout")
        with trio.move_on_at(until):
            for address in await addresses_of(server.host):
                left_s = until - trio.current_time()
                try:
                    return await self._dial(address, str(server.port), tls, left_s)
                except HandshakeError:
                    raise
                except DialError as error:
                    problem = error
        raise problem

    async def fetch(
        self,
        route: Route,
        path: str,
        user: UserInfo,
        headers: Sequence[tuple[bytes, bytes]] = (),
        *,
        most_bytes: int,
        method: str = "GET",
        body: bytes = b"",
        whole: bool = True,
    ) -> Fetched:
        """Ask for a document, or for something to be done.

        Args:
            route: the server to ask.
            path: of the document, and the query.
            user: who asks.
            headers: of the request.
            most_bytes: largest answer.
            method: of the request.
            body: of the request.
            whole: whether a larger answer is refused; else the rest of it is dropped.

        Raises:
            Unresolved: the server is nowhere.
            DialError: no server is there.
            BackendError: it breaks off, or speaks no HTTP.
            TooLarge: its answer is.
            Unusable: see `connect`.
            ApiError: 400 for what would end a line.
        """
        server = await self.find(route)
        asking = self._asking(server, user, headers)
        if body:
            asking.append((b"Content-Length", b"%d" % len(body)))
        request = encode_head(method, path, asking) + body
        transport = await self.connect(route, server)
        try:
            exchange = Exchange(transport, method, request)
            head = await exchange.head()
            answer = bytearray()
            while piece := await exchange.read():
                if len(answer) + len(piece) > most_bytes and whole:
                    raise TooLarge(f"response body is larger than {most_bytes} bytes")
                answer += piece[: most_bytes - len(answer)]
            return Fetched(
                head.status,
                head.get(b"content-type").decode("latin-1"),
                head.get(b"etag").decode("latin-1"),
                bytes(answer),
            )
        finally:
            transport.close()

    async def status(self, route: Route, server: Endpoint, path: str) -> int:
        """The status that a path is answered with.

        Raises:
            DialError: no server is there.
            BackendError: it breaks off, or speaks no HTTP.
            Unusable: see `connect`.
        """
        transport = await self.connect(route, server)
        try:
            head = encode_head("GET", path, self._asking(server, AGGREGATOR, ()))
            return (await Exchange(transport, "GET", head).head()).status
        finally:
            transport.close()

    @staticmethod
    def _asking(
        server: Endpoint, user: UserInfo, headers: Iterable[tuple[bytes, bytes]]
    ) -> Headers:
        return [
            (b"Host", server.authority.encode("latin-1", "replace")),
            (b"User-Agent", b"kubetrio"),
            *headers,
            *user_headers(user),
        ]

    async def _context(self, ca: bytes, insecure: bool) -> ssl.SSLContext:
        key, now = (ca, insecure), trio.current_time()
        kept = self._contexts.get(key)
        if kept is not None and now - kept[0] < FRESH_S:
            self._contexts.move_to_end(key)
            return kept[1]
        try:
            context = await self._env.run_blocking(self._make, ca, insecure)
        except (OSError, ValueError, PkiError) as error:  # ssl.SSLError is an OSError
            why = error.reason if isinstance(error, ssl.SSLError) else None
            raise Unusable(why or str(error)) from error
        self._contexts[key] = (now, context)
        if len(self._contexts) > KEPT_CONTEXTS:
            self._contexts.popitem(last=False)
        return context

    def _make(self, ca: bytes, insecure: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif ca:
            believe(context, ca)
        else:
            context.load_default_certs()
        own = self._identity()
        context.load_cert_chain(own.cert, own.key)
        return context
