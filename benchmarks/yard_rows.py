"""Yardstick (b): the rows of a list from bare apsw, joined and sent in one write over TLS.

The least that a server with this database and this transport must do for a LIST.
`python -m benchmarks.yard_rows CERT KEY DATABASE` prints its port and runs until it is ended.
"""

from __future__ import annotations

import select
import socket
import ssl
import sys

import apsw

SCHEMA = "CREATE TABLE row (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
INSERT = "INSERT INTO row (key, value) VALUES (?, ?)"
READ = "SELECT value FROM row WHERE key >= ? AND key < ? ORDER BY key"


def answer(connection: ssl.SSLSocket, database: apsw.Connection) -> None:
    """Answer requests on one connection until the client closes it."""
    held = b""
    while True:
        data = connection.recv(65536)
        if not data:
            return
        held += data
        if b"\r\n\r\n" not in held:
            continue
        held = b""
        body = b",".join([value for (value,) in database.execute(READ, ("", "\x7f"))])
        head = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n{"items":[' % (len(body) + 12)
        connection.sendall(b"".join((head, body, b"]}")))


def main() -> None:
    """Serve until stdin ends, one connection at a time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[1:3])
    database = apsw.Connection(sys.argv[3], flags=apsw.SQLITE_OPEN_READONLY)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"port {listener.getsockname()[1]}", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        accepted, _ = listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with context.wrap_socket(accepted, server_side=True) as connection:
                answer(connection, database)
        except OSError:
            accepted.close()  # a client that left in the middle; the next one is served


if __name__ == "__main__":
    main()
