"""The least a TLS server in Python can do: fixed bytes for whatever arrives.

It shows what the load generator can reach; it is no HTTP server.  A path that holds `watch` gets an
endless stream of chunks instead, to try the watch clients.
`python -m benchmarks.yard_raw CERT KEY` prints its port and runs until it is ended.
"""

from __future__ import annotations

import select
import socket
import ssl
import sys

BODY = b'{"text":"' + b"x" * (1024 - 11) + b'"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
CREATED = ANSWER.replace(b"200 OK", b"201 Created")
WATCH = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"%x\r\n%b\n\r\n" % (len(BODY) + 1, BODY)


class RawServer:
    """All connections of the process.

    Args:
        context: TLS of the server's side.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._poll = select.epoll()
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._poll.register(0, select.EPOLLIN)
        self._connections: dict[int, ssl.SSLSocket] = {}
        self._watchers: list[ssl.SSLSocket] = []

    def run(self) -> None:
        """Serve until stdin ends."""
        print(f"port {self._listener.getsockname()[1]}", flush=True)
        while True:
            for fd, _ in self._poll.poll():
                if fd == 0:
                    return
                connection = self._connections.get(fd)
                if connection is None:
                    self._accept()
                else:
                    self._answer(fd, connection)

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection = self._context.wrap_socket(accepted, server_side=True)
        except OSError:
            accepted.close()
            return
        connection.setblocking(False)
        self._connections[connection.fileno()] = connection
        self._poll.register(connection.fileno(), select.EPOLLIN)

    def _answer(self, fd: int, connection: ssl.SSLSocket) -> None:
        try:
            data = connection.recv(65536)
        except ssl.SSLWantReadError:
            return
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(fd)
            self._connections.pop(fd).close()
            if connection in self._watchers:
                self._watchers.remove(connection)
        elif b"watch" in data[:200]:
            connection.send(WATCH)
            self._watchers.append(connection)
        elif data.startswith(b"PUT"):
            for watcher in self._watchers:
                watcher.setblocking(True)
                watcher.sendall(EVENT)
                watcher.setblocking(False)
            connection.send(ANSWER)
        else:
            connection.send(CREATED if data.startswith(b"POST") else ANSWER)


def main() -> None:
    """Serve until stdin ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[1:3])
    RawServer(context).run()


if __name__ == "__main__":
    main()
