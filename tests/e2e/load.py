"""Closed-loop load over HTTPS, run as a program of its own so as not to share a lock with others.

    python load.py PORT TOKEN PATH CONNECTIONS SECONDS

Each connection sends a request, waits for the answer and sends the next.  Prints one JSON object:
answers by status code, and percentiles of the time to an answer, in seconds.
"""

from __future__ import annotations

import json
import selectors
import socket
import ssl
import sys
import time  # noqa: TID251  (real time is what is measured)
from collections import Counter


class Connection:
    """One connection with its request under way."""

    def __init__(self, context: ssl.SSLContext, port: int, request: bytes) -> None:
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self._request = request
        self._received = b""
        self.sent_at = 0.0

    def send(self) -> None:
        """Send the request."""
        self.sent_at = time.perf_counter()
        self.socket.send(self._request)

    def receive(self) -> int | None:
        """Read; the status code when the answer is complete."""
        try:
            data = self.socket.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return None
        if not data:
            raise ConnectionError("the server closed the connection")
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return None
        at = head.lower().find(b"content-length: ")
        size = int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(body) < size:
            return None
        self._received = b""
        return int(head[9:12])


def run(port: int, token: str, path: str, connections: int, seconds: float) -> dict[str, object]:
    """Make load for some seconds."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    request = (
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Accept: application/json\r\n\r\n"
    ).encode()
    selector = selectors.EpollSelector()
    everyone = [Connection(context, port, request) for _ in range(connections)]
    for one in everyone:
        selector.register(one.socket, selectors.EVENT_READ, one)
    for one in everyone:
        one.send()
    times: list[float] = []
    codes: Counter[int] = Counter()
    begun = time.perf_counter()
    while (now := time.perf_counter()) - begun < seconds:
        for key, _ in selector.select(1.0):
            one = key.data
            code = one.receive()
            if code is not None:
                times.append(time.perf_counter() - one.sent_at)
                codes[code] += 1
                one.send()
    times.sort()
    at = {name: times[int(len(times) * part)] if times else 0.0 for name, part in PARTS.items()}
    return {
        "codes": {str(code): count for code, count in codes.items()},
        "rate": len(times) / (now - begun),
        **at,
    }


PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

if __name__ == "__main__":
    port, token, path, connections, seconds = sys.argv[1:]
    print(json.dumps(run(int(port), token, path, int(connections), float(seconds))))
