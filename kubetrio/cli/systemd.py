"""What a service manager is told and gives: notifications, the watchdog, sockets that listen.

Source: sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3), which say that these protocols are
stable and may be spoken without a library.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import NoReturn

import trio

FIRST = 3  # descriptor of those that are passed
NAMES = ("https", "kubetrio")
"""Names (``FileDescriptorName=``) of the socket that is meant where several are passed."""


class ActivationError(Exception):
    """What was passed cannot be listened on; one line."""


@dataclass(frozen=True, slots=True)
class Manager:
    """The service manager, if there is one; telling it never fails.

    Args:
        address: of its socket, empty for none.
        watchdog_s: how long it waits for a sign of life, 0 for ever.
    """

    address: str = ""
    watchdog_s: float = 0.0

    @classmethod
    def of(cls, environ: MutableMapping[str, str], pid: int) -> Manager:
        """The one that the environment names; programs that this one starts are not told of it.

        Args:
            environ: of the process; variables are taken from it.
            pid: of the process.
        """
        address = environ.pop("NOTIFY_SOCKET", "")
        usec, meant = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        ours = usec.isdecimal() and meant in ("", str(pid))
        usable = address[:1] in ("/", "@") and sys.platform != "win32"
        return cls(address if usable else "", int(usec) / 1e6 if ours else 0.0)

    def tell(self, *lines: str) -> None:
        """Send an assignment or several.

        Args:
            lines: such as ``READY=1``.
        """
        if not self.address:
            return
        where = f"\0{self.address[1:]}" if self.address[0] == "@" else self.address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
            one.setblocking(False)
            one.sendto("\n".join(lines).encode(), where)

    async def live(self) -> NoReturn:
        """Give signs of life until cancelled: twice in the time that the manager waits.

        They come from the event loop, so a loop that stands still is found.
        """
        if not self.address or not self.watchdog_s:
            await trio.sleep_forever()
        while True:
            self.tell("WATCHDOG=1")
            await trio.sleep(self.watchdog_s / 2)


def passed(environ: MutableMapping[str, str], pid: int) -> socket.socket | None:
    """The socket that a service manager listens on for this process, None if it passed none.

    Args:
        environ: of the process; variables are taken from it.
        pid: of the process.

    Raises:
        ActivationError: what was passed is no TCP socket that listens, or several are meant.
    """
    meant, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if meant != str(pid) or not count.isdecimal() or not int(count):
        return None
    descriptors = range(FIRST, FIRST + int(count))
    candidates = list(descriptors)
    if len(candidates) > 1:
        by_name = dict(zip(descriptors, names, strict=False))
        candidates = [fd for fd in descriptors if by_name.get(fd) in NAMES]
    if len(candidates) != 1:
        raise ActivationError(
            f"{count} sockets were passed: give the one to listen on FileDescriptorName={NAMES[0]}"
        )
    for fd in descriptors:
        os.set_inheritable(fd, False)
    return _listening(candidates[0])


def _listening(fd: int) -> socket.socket:
    try:
        one = socket.socket(fileno=fd)
        listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise ActivationError(f"descriptor {fd}, which was passed, is no socket") from error
    tcp = one.type == socket.SOCK_STREAM and one.family in (socket.AF_INET, socket.AF_INET6)
    if not tcp or not listens:
        one.close()
        raise ActivationError(
            f"descriptor {fd}, which was passed, is no TCP socket that listens: use ListenStream="
            "ADDRESS:PORT and Accept=no"
        )
    one.setblocking(False)
    return one
