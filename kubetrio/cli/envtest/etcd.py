"""What envtest starts as ``etcd``: it answers health probes and says where data is to be kept.

Objects are in kubetrio's database, which `apiserver` opens in this process's ``--data-dir``.  So
they live and die with that directory, as etcd's do: a test that makes a new one starts anew, one
that keeps it finds everything again.

It speaks just enough HTTP/1.1, one answer for each connection, and nothing of etcd's own protocol.
Source: etcd's documentation of flags and monitoring; controller-runtime, controlplane.Etcd.
"""

from __future__ import annotations

import json
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kubetrio import __version__

ABOUT = (
    f"This is kubetrio {__version__} in the place of etcd: it keeps no keys. "
    "Objects are in the database of the kube-apiserver beside it."
)
WHERE = "/kubetrio"
"""Path under which `apiserver` asks what it is to know, as JSON."""
DIRECTORY, FSYNC = "data-dir", "fsync"
HELP = f"""\
{ABOUT}

Flags, with one or two dashes; other flags of etcd change nothing:
  --data-dir 'default.etcd'
      where kubetrio keeps its data
  --listen-client-urls 'http://localhost:2379'
      where health probes are answered
  --name 'default'
      names the data directory that --data-dir does not name
  --unsafe-no-fsync 'false'
      writes do not wait for the disk, as with kubetrio serve --durability normal
  --version 'false'
      print the version and end
"""
SWITCHES = frozenset(
    {"unsafe-no-fsync", "version", "help", "h", "debug", "pre-vote", "force-new-cluster"}
)
MAX_HEAD = 64 * 1024


class Mistake(Exception):
    """Flags that cannot be served; the text is one line about them."""


@dataclass(frozen=True, slots=True)
class Told:
    """What flags say.

    Args:
        directory: the data directory.
        addresses: hosts and ports to listen on.
        fsync: whether writes are to wait for the disk.
    """

    directory: Path
    addresses: tuple[tuple[str, int], ...]
    fsync: bool


def flags_of(arguments: Sequence[str]) -> dict[str, str]:
    """Flags as Go's package flag reads them: one dash or two, the last of several counts.

    Args:
        arguments: in order; a switch takes no value but behind ``=``.
    """
    values: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, given, value = rest.pop(0).lstrip("-").partition("=")
        if not given:
            follows = name not in SWITCHES and rest and not rest[0].startswith("-")
            value = rest.pop(0) if follows else "true"
        values[name] = value
    return values


def told(flags: dict[str, str]) -> Told:
    """What flags say.

    Raises:
        Mistake: an address that cannot be listened on.
    """
    name = flags.get("name") or "default"
    addresses = []
    for url in (flags.get("listen-client-urls") or "http://localhost:2379").split(","):
        parts = urlsplit(url.strip())
        if parts.scheme != "http" or parts.hostname is None:
            raise Mistake(f"--listen-client-urls: {url} is no http://HOST:PORT")
        try:
            addresses.append((parts.hostname, parts.port or 2379))
        except ValueError as error:
            raise Mistake(f"--listen-client-urls: {url}: {error}") from None
    return Told(
        directory=Path(flags.get("data-dir") or f"{name}.etcd").absolute(),
        addresses=tuple(addresses),
        fsync=flags.get("unsafe-no-fsync", "false") != "true",
    )


def answer(head: bytes, asked: Told) -> bytes:
    """The answer to a request.

    Args:
        head: of the request.
        asked: what flags say.
    """
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
    kind, status = "text/plain; charset=utf-8", "200 OK"
    if path == "/health":
        kind, body = "application/json", '{"health":"true","reason":""}'
    elif path in ("/livez", "/readyz"):
        body = "ok\n"
    elif path == WHERE:
        kind = "application/json"
        body = json.dumps(
            {DIRECTORY: str(asked.directory), FSYNC: asked.fsync, "kubetrio": __version__}
        )
    else:
        status, body = "404 Not Found", f"{ABOUT}\n"
    content = body.encode()
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
        "Connection: close",
    )
    text = "".join(f"{line}\r\n" for line in lines)
    return f"{text}\r\n".encode() + (b"" if method == b"HEAD" else content)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        OSError: it cannot.
    """
    [*_, (family, _, _, _, address)] = sorted(
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM),
        key=lambda found: found[0] == socket.AF_INET,
    )
    return socket.create_server(address[:2], family=family)


class Probes:
    """Answers requests; a slow client keeps no other waiting.

    Args:
        asked: what flags say.
    """

    def __init__(self, asked: Told) -> None:
        self._asked = asked
        self._selector = selectors.DefaultSelector()
        self._heads: dict[socket.socket, bytes] = {}

    def listen(self) -> None:
        """Listen on all addresses.

        Raises:
            OSError: it cannot.
        """
        for host, port in self._asked.addresses:
            listener = listening(host, port)
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> None:
        """Answer until SIGTERM or SIGINT.  Nothing is kept here, so there is nothing to finish."""
        signalled, number = socket.socketpair()
        with signalled, number:
            number.setblocking(False)
            signal.set_wakeup_fd(number.fileno())
            for one in (signal.SIGTERM, signal.SIGINT):
                signal.signal(one, lambda *_: None)  # the descriptor tells
            self._selector.register(signalled, selectors.EVENT_READ)
            print(ABOUT, file=sys.stderr, flush=True)
            while True:
                for key, _ in self._selector.select():
                    if key.fileobj is signalled:
                        return
                    key.data(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # it left again, or there are no descriptors just now
        connection.setblocking(False)
        self._heads[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, one: socket.socket) -> None:
        try:
            data = one.recv(MAX_HEAD)
        except OSError:
            data = b""
        head = self._heads[one] + data
        if data and b"\r\n\r\n" not in head and len(head) < MAX_HEAD:
            self._heads[one] = head
            return
        self._selector.unregister(one)
        del self._heads[one]
        with one:
            if b"\r\n\r\n" in head:
                try:
                    one.sendall(answer(head, self._asked))  # fits into any socket's buffer
                except OSError:
                    return  # the prober has gone
                # A reset would take the answer away from who still sends.
                one.shutdown(socket.SHUT_WR)


def main(arguments: Sequence[str]) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code.

    Args:
        arguments: those of the command line, without the program.
    """
    flags = flags_of(arguments)
    if "help" in flags or "h" in flags:
        print(HELP, end="")
        return 0
    if flags.get("version") == "true":
        print(ABOUT)
        return 0
    try:
        asked = told(flags)
        asked.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        probes = Probes(asked)
        probes.listen()
    except (Mistake, OSError) as problem:
        print(f"etcd: {problem}", file=sys.stderr)
        return 1
    probes.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
