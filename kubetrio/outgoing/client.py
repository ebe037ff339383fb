"""One client for all calls that a server makes to webhooks and issuers.

Connections are kept by target.  A call holds nothing but its own connection while it waits, and its
time and the size of its answer are bounded.  Proxies that the environment names are not used.

Errors are worded as Go's ``net/http`` has them where that is possible, since they are shown to
clients inside of others' messages.
"""

from __future__ import annotations

import errno
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import trio

from kubetrio.env import Env
from kubetrio.outgoing.counts import ERROR, CallCounts
from kubetrio.outgoing.target import Target
from kubetrio.tls.certificates import believe

if TYPE_CHECKING:
    import httpx2

KEPT_TARGETS = 256
CONNECTIONS = 1024  # to one target: a slow one holds as many requests as there are seats
IDLE_CONNECTIONS = 25
IDLE_S = 30.0
MOST_BYTES = 3 * 1024 * 1024
AGENT = "kubetrio"


class CallError(Exception):
    """A call failed."""


class CallTimedOut(CallError):
    """It took too long."""


class AnswerTooLarge(CallError):
    """The answer is larger than is taken."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Args:
        status: code.
        headers: lower-case names.
        body: bytes.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Outgoing:
    """Calls others.

    Args:
        env: reads files in a thread.

    Attributes:
        families: what is called, as metrics.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self._counts = CallCounts()
        self.families = self._counts.families
        self._clients: OrderedDict[Target, httpx2.AsyncClient] = OrderedDict()

    async def call(
        self,
        target: Target,
        *,
        method: str = "POST",
        url: str = "",
        body: bytes = b"",
        headers: Sequence[tuple[str, str]] = (),
        timeout_s: float = 30.0,
        most_bytes: int = MOST_BYTES,
        connect_to: tuple[str, int] | None = None,
    ) -> Answer:
        """Send a request and read its answer; redirects are not followed.

        Args:
            target: server to call.
            method: HTTP method.
            url: in place of that of the target.
            body: what to send.
            headers: beside those that the target needs.
            timeout_s: seconds for all of it.
            most_bytes: largest body of an answer.
            connect_to: address and port to connect to, in place of the host of the URL.

        Raises:
            CallTimedOut: it took longer.
            AnswerTooLarge: the answer is larger.
            CallError: anything else went wrong.
        """
        url = url or target.url
        what = f'{method.capitalize()} "{url}": '
        begun, answer = trio.current_time(), None
        try:
            with trio.move_on_after(timeout_s):
                answer = await self._call(
                    target, what, method, url, body, headers, most_bytes, connect_to
                )
                return answer
            raise CallTimedOut(f"{what}context deadline exceeded")
        finally:
            code, got = (str(answer.status), len(answer.body)) if answer else (ERROR, 0)
            took = trio.current_time() - begun
            self._counts.called(method, urlsplit(url).netloc, code, took, len(body), got)

    async def open(
        self,
        target: Target,
        *,
        method: str,
        url: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
    ) -> httpx2.Response:
        """Send a request and return its answer, whose body is still to come; close it.

        Args:
            target: the server to call.
            method: HTTP method.
            url: what to ask for.
            body: what to send.
            headers: beside those that the target needs.

        Raises:
            CallError: there is no answer.
        """
        return await self._send(target, f'{method} "{url}": ', method, url, body, headers, None)

    async def _call(
        self,
        target: Target,
        what: str,
        method: str,
        url: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
        most_bytes: int,
        connect_to: tuple[str, int] | None,
    ) -> Answer:
        import httpx2

        response = await self._send(target, what, method, url, body, headers, connect_to)
        try:
            taken = await _body(response, most_bytes)
        except AnswerTooLarge as error:
            raise AnswerTooLarge(f"{what}{error}") from None
        except (httpx2.HTTPError, ssl.SSLError, OSError, ValueError) as error:
            parts = urlsplit(url)
            host, port = connect_to or (parts.hostname or "", _port(url))
            raise CallError(what + _why(error, host, port)) from error
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1.0):
                await response.aclose()
        return Answer(response.status_code, dict(response.headers), taken)

    async def _send(
        self,
        target: Target,
        what: str,
        method: str,
        url: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
        connect_to: tuple[str, int] | None,
    ) -> httpx2.Response:
        import httpx2

        parts = urlsplit(url)
        sent = [("Accept-Encoding", "identity"), *headers]
        if not any(name.lower() == "user-agent" for name, _ in headers):
            sent.append(("User-Agent", AGENT))
        if connect_to is not None:
            host, port = connect_to
            sent.append(("Host", parts.netloc))
            shown = f"[{host}]" if ":" in host else host
            url = urlunsplit(parts._replace(netloc=f"{shown}:{port}"))
        name = target.server_name or parts.hostname or ""
        try:
            client = await self._client(target)
            if (token := await self._token(target)) is not None:
                sent.append(("Authorization", f"Bearer {token}"))
            request = client.build_request(
                method, url, content=body or None, headers=sent,
                extensions={"sni_hostname": name, "timeout": {}},
            )  # fmt: skip
            return await client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError, ValueError) as error:
            host, port = connect_to or (parts.hostname or "", _port(url))
            raise CallError(what + _why(error, host, port)) from error

    async def _token(self, target: Target) -> str | None:
        if target.token_file is not None:
            text = await self._env.run_blocking(target.token_file.read_text)
            return text.strip()
        return target.token or None

    async def _client(self, target: Target) -> httpx2.AsyncClient:
        import httpx2

        client = self._clients.get(target)
        if client is not None:
            self._clients.move_to_end(target)
            return client
        context = await self._env.run_blocking(_context, target)
        if target in self._clients:  # another task was faster
            return self._clients[target]
        auth = (target.username, target.password) if target.username else None
        limits = httpx2.Limits(
            max_connections=CONNECTIONS,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_S,
        )
        made = httpx2.AsyncClient(
            verify=context, auth=auth, limits=limits, timeout=None, trust_env=False
        )
        self._clients[target] = made
        if len(self._clients) > KEPT_TARGETS:
            _, oldest = self._clients.popitem(last=False)
            await oldest.aclose()
        return made

    def forget(self, target: Target) -> None:
        """Make new connections to a target from now on: its files changed."""
        self._clients.pop(target, None)

    async def close(self) -> None:
        """Close all connections."""
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()


async def _body(response: httpx2.Response, most: int) -> bytes:
    taken = bytearray()
    # The library's generators end in order only by what is raised inside of them.
    with trio.CancelScope() as scope:
        async for part in response.aiter_raw():
            taken += part
            if len(taken) > most:
                scope.cancel()
    if len(taken) > most:
        raise AnswerTooLarge(f"response body is larger than {most} bytes")
    return bytes(taken)


def _context(target: Target) -> ssl.SSLContext:
    """How the target is trusted, and what it is shown."""
    if target.ca is None:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        believe(context, target.ca)
    if target.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if target.certificate is not None and target.key is not None:
        # OpenSSL takes these from files only.
        with tempfile.NamedTemporaryFile() as both:
            both.write(target.certificate + b"\n" + target.key)
            both.flush()
            context.load_cert_chain(both.name)
    return context


def _port(url: str) -> int:
    parts = urlsplit(url)
    with suppress(ValueError):
        if parts.port is not None:
            return parts.port
    return 443 if parts.scheme == "https" else 80


_ERRNO = {
    errno.ECONNREFUSED: "connect: connection refused",
    errno.EHOSTUNREACH: "connect: no route to host",
    errno.ENETUNREACH: "connect: network is unreachable",
}
_TLS = (
    ("Hostname mismatch", "x509: certificate is not valid for the requested name"),
    ("IP address mismatch", "x509: certificate is not valid for the requested name"),
    ("has expired", "x509: certificate has expired or is not yet valid"),
    ("not yet valid", "x509: certificate has expired or is not yet valid"),
    ("verify failed", "x509: certificate signed by unknown authority"),
)

_PROTOCOL = (
    ("disconnected", "EOF"),
    ("without sending complete message body", "unexpected EOF"),
    (
        "illegal status line",
        "net/http: HTTP/1.x transport connection broken: malformed HTTP response",
    ),
    ("Name or service not known", "dial tcp: lookup failed: no such host"),
    ("No address associated with hostname", "dial tcp: lookup failed: no such host"),
)


def _why(error: BaseException, host: str, port: int) -> str:
    """An error in Go's words where there are such."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if isinstance(at, ssl.SSLError):
            for part, words in _TLS:
                if part in str(at):
                    return f"tls: failed to verify certificate: {words}"
        elif isinstance(at, OSError) and at.errno in _ERRNO:
            shown = f"[{host}]" if ":" in host else host
            return f"dial tcp {shown}:{port}: {_ERRNO[at.errno]}"
        elif isinstance(at, BaseExceptionGroup):
            at = at.exceptions[0]
            continue
        at = at.__cause__ or at.__context__
    text = str(error)
    for part, words in _PROTOCOL:
        if part in text:
            return words
    return text or type(error).__name__
