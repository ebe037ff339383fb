"""A server in a thread of its own, for programs whose main thread does not run Trio.

Blocking programs wait for its futures here; asyncio programs await them in `kubetrio.aio`.
"""

from __future__ import annotations

from kubetrio.threads.blocking import START_LIMIT_S, in_thread, run
from kubetrio.threads.client import BlockingClient
from kubetrio.threads.serverrun import STOP_MARGIN_S, NotRunning, ServerRun
from kubetrio.threads.serverthread import ServerClock, ServerFaults, ServerThread

__all__ = [
    "START_LIMIT_S",
    "STOP_MARGIN_S",
    "BlockingClient",
    "NotRunning",
    "ServerClock",
    "ServerFaults",
    "ServerRun",
    "ServerThread",
    "in_thread",
    "run",
]
