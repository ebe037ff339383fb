"""Opening a connection to a backend, with TLS or without.

What goes wrong is told in the words of Go's net package, because kube-apiserver passes them on to
its clients: ``dial tcp 192.0.2.1:10250: connect: connection refused``.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
from typing import NamedTuple, Protocol

import trio

from kubetrio.transport import PlainTransport, TlsTransport, Transport, keep_alive

CONNECT_TIMEOUT_S = 30.0
MAX_PORT = 65535
UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})  # OpenSSL's X509_V_ERR_* of broken chains
EXPIRED = frozenset({9, 10})
OTHER_NAME = frozenset({62, 64})


class DialError(Exception):
    """No connection to a backend; the text says why."""


class HandshakeError(DialError):
    """A backend answers, and TLS with it failed."""


class NotAllowed(DialError):
    """A user had the server connect to where it must not."""


class Tls(NamedTuple):
    """TLS on a connection.

    Args:
        context: of a client.
        name: who the certificate of the other side must be for.
    """

    context: ssl.SSLContext
    name: str


class Dial(Protocol):
    """Opens connections; tests bring another one."""

    async def __call__(
        self, address: str, port: str, tls: Tls | None, timeout_s: float, /
    ) -> Transport:
        """A connection, its TLS handshake done.

        Args:
            address: IP address, without brackets; never a name, which could be another address's
                by the time it is dialled.
            port: decimal TCP port.
            tls: None for plain TCP.
            timeout_s: seconds for all of it.

        Raises:
            DialError: there is none.
        """
        ...


def join_host_port(host: str, port: str) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_number(port: str) -> int:
    """A TCP port.

    Raises:
        DialError: it is none.
    """
    if not (port.isascii() and port.isdigit() and int(port) <= MAX_PORT):
        raise DialError(f"dial tcp: lookup tcp/{port}: unknown port")
    return int(port)


async def addresses_of(host: str) -> tuple[str, ...]:
    """The addresses of a name, in the resolver's order; an address is its own.

    Raises:
        DialError: there are none.
    """
    try:
        return (str(ipaddress.ip_address(host)),)
    except ValueError:
        pass
    try:
        infos = await trio.socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise DialError(f"dial tcp: lookup {host}: no such host") from None
    return tuple(dict.fromkeys(str(each[4][0]) for each in infos))


async def dial(address: str, port: str, tls: Tls | None, timeout_s: float) -> Transport:
    """See `Dial`."""
    number = port_number(port)
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    shown = join_host_port(address, port)
    with trio.move_on_after(timeout_s):
        sock = await _connect(family, (address, number), shown)
        return PlainTransport(sock) if tls is None else await _secure(sock, tls)
    raise DialError(f"dial tcp {shown}: i/o timeout")


async def _connect(family: int, address: tuple[str, int], shown: str) -> socket.socket:
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise DialError(f"dial tcp {shown}: socket: {why}") from error
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(sock)
        number = sock.connect_ex(address)
        if number in (errno.EINPROGRESS, errno.EWOULDBLOCK):
            await trio.lowlevel.wait_writable(sock)
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise DialError(f"dial tcp {shown}: connect: {os.strerror(number).lower()}")
    except BaseException:
        sock.close()
        raise
    return sock


async def _secure(sock: socket.socket, tls: Tls) -> Transport:
    try:
        wrapped = tls.context.wrap_socket(
            sock, server_hostname=tls.name, do_handshake_on_connect=False
        )
    except BaseException:
        sock.close()
        raise
    transport = TlsTransport(wrapped)
    try:
        await transport.handshake()
    except OSError as error:
        transport.close()
        raise HandshakeError(tls_words(error, tls.name)) from error
    except BaseException:
        transport.close()
        raise
    return transport


def tls_words(error: OSError, host: str) -> str:
    """What went wrong in a TLS handshake, in Go's words where it has some."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
        if error.verify_code in UNKNOWN_AUTHORITY:
            why = "certificate signed by unknown authority"
        elif error.verify_code in EXPIRED:
            why = "certificate has expired or is not yet valid"
        elif error.verify_code in OTHER_NAME:
            why = f"certificate is not valid for {host}"
        return f"tls: failed to verify certificate: x509: {why}"
    if isinstance(error, ssl.SSLEOFError):
        return "EOF"
    if isinstance(error, ssl.SSLError):
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
            return "tls: first record does not look like a TLS handshake"
        return f"remote error: tls: {(error.reason or str(error)).lower().replace('_', ' ')}"
    return io_words(error)


def io_words(error: OSError, doing: str = "read") -> str:
    """What went wrong on a connection that was open.

    Args:
        error: the error.
        doing: what was tried: ``read`` or ``write``.
    """
    if isinstance(error, ssl.SSLEOFError):
        return "EOF"
    if error.errno and not isinstance(error, ssl.SSLError):
        return f"{doing}: {os.strerror(error.errno).lower()}"
    return str(error).lower()
