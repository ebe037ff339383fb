"""A process that calls no other server, for scripts that come from others.

A script can create webhooks, nodes and endpoints of any address, and have the server call them from
the machine of who replays it.  The interpreter tells hooks of each connection before it is made.

Source: PEP 578; Python, "Audit events table".
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CALLS = frozenset(
    {
        "socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
        "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo",
    }
)  # fmt: skip
WHY = "scripts of files call no other server"


class _Guard:
    """Refuses connections while it is held; a hook of the interpreter stays for good."""

    def __init__(self) -> None:
        self._held = 0
        self._hooked = False

    def hold(self) -> None:
        """Refuse from now on."""
        if not self._hooked:
            sys.addaudithook(self._audit)
            self._hooked = True
        self._held += 1

    def release(self) -> None:
        """Undo one `hold`."""
        self._held -= 1

    def _audit(self, event: str, _arguments: tuple[object, ...]) -> None:
        if self._held and event in CALLS:
            raise OSError(errno.EACCES, WHY)


_GUARD = _Guard()


@contextmanager
def offline() -> Iterator[None]:
    """Refuse all connections and look-ups of this process while a block lasts, with an OSError."""
    _GUARD.hold()
    try:
        yield
    finally:
        _GUARD.release()
