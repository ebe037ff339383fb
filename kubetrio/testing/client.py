"""The HTTP client in the server's process, for tests; see `kubetrio.harness.exchange`."""

from __future__ import annotations

from kubetrio.harness.connecting import ADMIN, connect, converse
from kubetrio.harness.connecting import Connected as Client
from kubetrio.harness.exchange import HOST, Answer, BadAnswer, Exchange, Head, encode_request

__all__ = [
    "ADMIN",
    "HOST",
    "Answer",
    "BadAnswer",
    "Client",
    "Exchange",
    "Head",
    "connect",
    "converse",
    "encode_request",
]
