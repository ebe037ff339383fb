"""Opening a connection to a member of etcd: addresses, TCP or a Unix socket, TLS.

Files of TLS are read for each connection, as by kube-apiserver's client, so that new certificates
are used without a restart.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import trio

from kubetrio.env import Env
from kubetrio.store.etcd.errors import Code, EtcdError, Unauthenticated, Unavailable
from kubetrio.tls import pki
from kubetrio.tls.certificates import authorities
from kubetrio.transport import PlainTransport, TlsTransport, Transport, keep_alive

DEFAULT_PORT: Final = 2379
ALPN: Final = "h2"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files for TLS.

    Args:
        ca: certificates of the authorities of etcd's certificate; None for those of the system.
        cert: certificate of this client, None for none.
        key: its key.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


def check_files(files: TlsFiles) -> None:
    """See that files for TLS can be used, so that one that cannot is told at once.  Blocking.

    Args:
        files: as flags name them.

    Raises:
        ValueError: one cannot; the text names its flag.

    Source: go.etcd.io/etcd/client/pkg/v3/transport/listener.go (`TLSInfo.baseConfig`).
    """
    if files.ca is not None:
        try:
            authorities(files.ca.read_bytes())
        except OSError as error:
            why = error.strerror or str(error)
            raise ValueError(f"cannot read --etcd-cafile {files.ca}: {why}") from error
        except ValueError as error:
            raise ValueError(f"cannot use --etcd-cafile {files.ca}: {error}") from error
    if (files.cert is None) != (files.key is None):
        raise ValueError("--etcd-certfile and --etcd-keyfile: one is no use without the other")
    if files.cert is not None and files.key is not None:
        flag = "--etcd-certfile and --etcd-keyfile"
        try:
            pki.load_user_supplied(files.cert, files.key, flag)
        except pki.PkiError as error:
            raise ValueError(f"{flag}: {error}") from error


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a member listens.

    Args:
        url: as the flag has it.
        host: name or address; of a Unix socket its path.
        port: TCP port; 0 for a Unix socket.
        tls: whether it has TLS.
    """

    url: str
    host: str
    port: int
    tls: bool

    @property
    def authority(self) -> str:
        """Host and port, as requests have them."""
        if not self.port:
            return "localhost"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def endpoint_of(url: str) -> Endpoint:
    """Read an endpoint: ``https://host:2379``, ``http://host:2379``, ``host:2379``, ``unix:///path``.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme in ("unix", "unixs"):
        path = unquote(parts.netloc + parts.path)
        if not path:
            raise ValueError(f"{url}: a socket without a path")
        return Endpoint(url, path, 0, parts.scheme == "unixs")
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise ValueError(f"{url}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url}: not a URL of etcd, such as https://127.0.0.1:2379")
    return Endpoint(url, parts.hostname, port, parts.scheme == "https")


Dial = Callable[[Endpoint], Awaitable[Transport]]
"""Opens a connection; raises `EtcdError`.  The caller brings the deadline."""


def dialer(files: TlsFiles, env: Env) -> Dial:
    """Return what opens connections.

    Args:
        files: for TLS.
        env: threads, in which files are read.
    """

    async def dial(endpoint: Endpoint) -> Transport:
        context = await env.run_blocking(context_of, files) if endpoint.tls else None
        sock = await _connect(endpoint)
        if context is None:
            return PlainTransport(sock)
        return await _secure(sock, context, endpoint)

    return dial


def context_of(files: TlsFiles) -> ssl.SSLContext:
    """Read the files for TLS.

    Raises:
        Unavailable: they cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=files.ca)
        context.set_alpn_protocols([ALPN])
        if files.cert is not None:
            context.load_cert_chain(files.cert, files.key)
    except OSError as error:  # of TLS, too
        names = ", ".join(str(path) for path in (files.ca, files.cert, files.key) if path)
        raise Unavailable(f"cannot read {names}: {error}", Code.UNAVAILABLE) from error
    return context


async def _connect(endpoint: Endpoint) -> socket.socket:
    try:
        if not endpoint.port:
            stream = await trio.open_unix_socket(endpoint.host)
        else:
            stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
    except OSError as error:
        shown = endpoint.authority if endpoint.port else endpoint.host
        raise Unavailable(f"dial {shown}: {_words(error)}", Code.UNAVAILABLE) from error
    sock = socket.socket(fileno=stream.socket.detach())
    sock.setblocking(False)
    if endpoint.port:
        with contextlib.suppress(OSError):  # the peer is gone already, which reading tells
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(sock)
    return sock


async def _secure(sock: socket.socket, context: ssl.SSLContext, endpoint: Endpoint) -> Transport:
    name = endpoint.host if endpoint.port else "localhost"
    transport = TlsTransport(
        context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
    )
    try:
        await transport.handshake()
        if transport.socket.selected_alpn_protocol() not in (ALPN, None):
            raise Unavailable(f"{endpoint.url}: the peer does not speak HTTP/2", Code.UNAVAILABLE)
    except OSError as error:
        transport.close()
        raise broken(error, endpoint) from error
    except BaseException:
        transport.close()
        raise
    return transport


def broken(cause: Exception, endpoint: Endpoint) -> EtcdError:
    """Return the error of a connection that broke, in its handshake or later.

    A certificate that a member does not accept is heard of after the handshake (TLS 1.3).
    """
    text = f"{endpoint.url}: {_words(cause) if isinstance(cause, OSError) else cause}"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unauthenticated(text, Code.UNAUTHENTICATED)
    if isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or ""):
        return Unauthenticated(text, Code.UNAUTHENTICATED)
    return Unavailable(text, Code.UNAVAILABLE)


def _words(error: OSError) -> str:
    """What went wrong; of several attempts the first."""
    inner = error.__cause__
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    if isinstance(inner, OSError):
        error = inner
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLEOFError):
        return "the peer ended TLS without a word, as for a certificate that it does not trust"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    if error.errno:
        return os.strerror(error.errno).lower()
    return str(error)
