"""Attacks of those who take their time to say what they want."""

from __future__ import annotations

import ssl

from benchmarks.overload.aim import MOST_STRANGERS, Aim, Pace, Steps

HEADS = MOST_STRANGERS * 3 // 2
BODIES = 400
BODY_BYTES = 60_000
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def _drip(aim: Aim, most: int, front: bytes, drip: bytes) -> Steps:
    """On each of so many connections a request's front, then a drop of it every second."""
    ring: list[ssl.SSLSocket | None] = [None] * most
    pace = Pace(most)
    full = False
    try:
        while True:
            for place, sock in enumerate(ring):
                if full:
                    pace.wait()
                with aim.mishaps():
                    try:
                        if sock is None:
                            ring[place] = sock = aim.tls()
                            sock.sendall(front)
                        else:
                            sock.sendall(drip)
                    except OSError:
                        ring[place] = None
                        if sock is not None:
                            sock.close()
                        raise
                yield full
            full = True
    finally:
        for sock in ring:
            if sock is not None:
                sock.close()


def heads(aim: Aim) -> Steps:
    """Heads that never end, more than connections without credentials are allowed."""
    front = aim.head("GET", "/readyz")[:-2] + b"X-Drops: "
    yield from _drip(aim, aim.scaled(HEADS), front, b"a")


def bodies(aim: Aim) -> Steps:
    """Bodies that come a byte a second, of a user without rights."""
    length = f"Content-Length: {BODY_BYTES}"
    front = aim.head("POST", REVIEWS, aim.stranger, "Content-Type: application/json", length)
    yield from _drip(aim, aim.scaled(BODIES), front + b"{", b" ")
