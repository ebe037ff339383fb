"""Attacks of those who only connect."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable

from benchmarks.overload.aim import MOST_STRANGERS, Aim, Pace, Steps

FLOOD = 3 * MOST_STRANGERS
A_SECOND = 20_000 / 60


def _held(aim: Aim, most: int, pace: Pace, connect: Callable[[], socket.socket]) -> Steps:
    """Open so many connections at a pace, then give up the oldest for each new one."""
    held: deque[socket.socket] = deque()
    try:
        full = False
        while True:
            pace.wait()
            if len(held) >= most:
                held.popleft().close()
            with aim.mishaps():
                held.append(connect())
            full = full or len(held) >= most
            yield full
    finally:
        for sock in held:
            sock.close()


def idle(aim: Aim) -> Steps:
    """TLS connections that say nothing, three times as many as are allowed."""
    yield from _held(aim, aim.scaled(FLOOD), Pace(A_SECOND), aim.tls)


def attempts(aim: Aim) -> Steps:
    """20,000 handshakes a minute, each closed at once."""
    pace = Pace(A_SECOND * aim.share)
    while True:
        pace.wait()
        with aim.mishaps():
            aim.tls().close()
        yield True


def client_hello(aim: Aim) -> bytes:
    """The first message of a handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    half = aim.context.wrap_bio(incoming, outgoing, server_hostname=aim.endpoint.host)
    with contextlib.suppress(ssl.SSLWantReadError):
        half.do_handshake()
    return outgoing.read()


def half_open(aim: Aim) -> Steps:
    """Handshakes that stop: at nothing, in the first message, and behind it."""
    hello = client_hello(aim)
    pieces = (b"", hello[: len(hello) // 2], hello)
    turn = 0

    def connect() -> socket.socket:
        nonlocal turn
        turn += 1
        sock = aim.tcp()
        sock.sendall(pieces[turn % len(pieces)])
        return sock

    yield from _held(aim, aim.scaled(FLOOD), Pace(A_SECOND), connect)
