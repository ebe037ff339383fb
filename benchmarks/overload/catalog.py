"""The attacks by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.overload import floods, handshakes, slow, streams, waiting
from benchmarks.overload.aim import Aim, Steps

CBOR = ("--feature-gates=CBORServingAndStorage=true",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack.

    Args:
        name: of its row, behind `overload-`.
        title: what it does.
        run: does it; says each time whether it is at its full strength.
        processes: how many attack together.
        flags: of the server.
        warm: paths that are asked for once before anything is measured, since what the first
            request for them loads does not count.
        watches: how many watches it keeps open; their memory is measured by watch.
    """

    name: str
    title: str
    run: Callable[[Aim], Steps]
    processes: int = 1
    flags: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()
    watches: int = 0


ATTACKS = (
    Attack(
        name="idle",
        title="3,072 idle TLS connections without credentials, three times what is allowed",
        run=handshakes.idle,
    ),
    Attack(
        name="attempts",
        title="20,000 connections a minute without credentials, closed behind the handshake",
        run=handshakes.attempts,
        processes=2,
    ),
    Attack(
        name="half-open",
        title="3,072 connections that stop within the handshake",
        run=handshakes.half_open,
    ),
    Attack(
        name="slow-heads",
        title="1,536 request heads without credentials, a byte a second",
        run=slow.heads,
    ),
    Attack(
        name="slow-bodies",
        title="400 request bodies of a user without rights, a byte a second",
        run=slow.bodies,
    ),
    Attack(
        name="h2-openapi",
        title="240 streams of /openapi/v2 on 10 connections that grant no window, no rights",
        run=streams.openapi,
        warm=("/openapi/v2",),
    ),
    Attack(
        name="h2-version",
        title="2,400 streams of /version on 100 connections that grant no window, no credentials",
        run=streams.version,
    ),
    Attack(
        name="h2-watches",
        title="100 watches on 10 connections that grant no window, beside 20 writes/s of 40 KB",
        run=streams.stalled_watches,
    ),
    Attack(
        name="decode-reviews",
        title="decode bombs for reviews of oneself, 3 clients of a user without rights",
        run=floods.reviews,
        processes=3,
        flags=CBOR,
    ),
    Attack(
        name="decode-configmaps",
        title="decode bombs of 3 MiB for ConfigMaps, 3 clients of a user who may create them",
        run=floods.config_maps,
        processes=3,
        flags=CBOR,
    ),
    Attack(
        name="caches",
        title="long paths, credentials and headers that are never the same, no rights",
        run=floods.caches,
    ),
    Attack(
        name="headers",
        title="time-outs, selectors and Accept of 100 KB, no rights",
        run=floods.headers,
    ),
    Attack(
        name="strangers",
        title="the costliest requests of a search, 250 connections without credentials",
        run=floods.strangers,
    ),
    Attack(
        name="watch-selectors",
        title="watches with different selectors of 12 KB, 500 connections of one user",
        run=floods.watch_selectors,
    ),
    Attack(
        name="watch-refused",
        title="watches that are refused, 500 connections",
        run=floods.watch_refused,
    ),
    Attack(
        name="forbidden",
        title="requests that are refused (403), 64 connections of a user without rights",
        run=floods.forbidden,
    ),
    Attack(
        name="dumps",
        title="flow control's debug dumps of a level with 10,000,000 queues",
        run=floods.dumps,
    ),
    Attack(
        name="watches-h1",
        title="memory by watch, 10,000 idle ones over HTTP/1.1",
        run=waiting.over_h1,
        watches=waiting.H1_WATCHES,
    ),
    Attack(
        name="watches-h2",
        title="memory by watch, 2,000 idle ones on 20 HTTP/2 connections",
        run=waiting.over_h2,
        watches=waiting.H2_WATCHES,
    ),
)
BY_NAME = {attack.name: attack for attack in ATTACKS}
MIXED = tuple(attack for attack in ATTACKS if not attack.watches)
