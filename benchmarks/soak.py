"""`python -m benchmarks.soak --seconds 900`: whether memory stays within what the caches may have.

Lists of one collection in every representation, drawn at random, are read while its objects are
written and watched: JSON, protobuf, CBOR, Tables and metadata, with gzip and without, whole and in
pages, with selectors, at old revisions, and as streams.  The server has a small cache, which these
fill and empty over and over.

After each interval a line tells what was asked and what the server has in memory.  The exit code is
1 when a cache of the server was over its bound, or its memory over what all of them may have and
the lists under way beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import random  # noqa: TID251  (a seed decides what is listed)
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import facts, load, process, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.initial import QUERY
from benchmarks.load import LoadSpec
from benchmarks.requests import Op
from benchmarks.subjects import Kubetrio, Running, revision_of
from benchmarks.watchers import WatchSpec
from kubetrio.config.memory import MIB, Memory

PAGE = 500
LOOK_S = 0.5
SETTLE_S = 2.0
READERS, WRITERS, WATCHERS = 8, 2, 20
WATCH_S = 24 * 3600  # longer than a soak
DRAWN = 12  # requests of an interval, each sent over and over
FLAGS = (
    "--feature-gates=CBORServingAndStorage=true",
    "--etcd-compaction-interval=20s",
    "--history-window=40s",
)


@dataclass(frozen=True, slots=True)
class Form:
    """A representation.

    Args:
        name: of it.
        accept: media type of a list.
        watched: media type of a watch.
    """

    name: str
    accept: str
    watched: str


def _as(media: str, kind: str) -> str:
    return f"{media};as={kind};v=v1;g=meta.k8s.io"


JSON, CBOR = "application/json", "application/cbor"
FORMS = (
    Form("json", JSON, JSON),
    Form("protobuf", requests.PROTOBUF, requests.PROTOBUF),
    Form("cbor", CBOR, CBOR),
    Form("table", _as(JSON, "Table"), _as(JSON, "Table")),
    Form("metadata", _as(JSON, "PartialObjectMetadataList"), _as(JSON, "PartialObjectMetadata")),
    Form(
        "metadata as protobuf",
        _as(requests.PROTOBUF, "PartialObjectMetadataList"),
        _as(requests.PROTOBUF, "PartialObjectMetadata"),
    ),
)
WHOLE, PAGED, OLD, STREAM = "whole", "paged", "old", "stream"
PARTS = {
    WHOLE: "",
    "cached": "resourceVersion=0",
    "first page": f"limit={PAGE}",
    PAGED: f"limit={PAGE}&continue=%s",
    "labels": "labelSelector=app%%3Dbench",
    "no labels": "labelSelector=app%%21%%3Dbench",
    "one name": f"fieldSelector=metadata.name%%3D{requests.NAME % 7}",
    OLD: "resourceVersion=%s&resourceVersionMatch=Exact",
    STREAM: f"{QUERY}&timeoutSeconds=1",
}
"""Queries by name; with a hole for a continue token or a revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where lists begin.

    Args:
        token: of a second page.
        revision: newest one some time ago.
    """

    token: str
    revision: str


def drawn(rng: random.Random, run: Running, places: Places) -> tuple[Op, ...]:
    """Draw some lists.

    Args:
        rng: what decides.
        run: the server.
        places: where those begin that do not begin now.
    """
    ops = []
    for number in range(DRAWN):
        form, part = rng.choice(FORMS), rng.choice(tuple(PARTS))
        hole = {PAGED: places.token, OLD: places.revision}.get(part)
        query = PARTS[part] % (() if hole is None else (hole,))
        op = requests.fixed(
            run.endpoint,
            f"{run.collection}?{query}" if query else run.collection,
            label=f"{number} {form.name} {part}",
            accept=form.watched if part == STREAM else form.accept,
            encoding=rng.choice(("", "gzip")),
        )
        # What is old may be compacted, and a token too old to go on with.
        ops.append(dataclasses.replace(op, expect=(200, 410)))
    return tuple(ops)


def bounds(cache_bytes: int) -> Mapping[str, int]:
    """Return what each cache may have in bytes, by its name in metrics.

    Args:
        cache_bytes: what `--cache-size` says.
    """
    memory = Memory(cache_bytes=cache_bytes)
    return {
        "resources/segments/cache": memory.segments_bytes,
        "resources/recentreads": 3 * (memory.segments_bytes // 10),
        "store/sqlite/recent": memory.recent_bytes,
        "watch/window": memory.window_bytes,
        "api/encoding/cache": memory.encoded_bytes,
    }


def allowed_mb(cache_bytes: int, slack_mb: float) -> float:
    """Return what memory may grow by, in MB of 10^6 bytes.

    Lists that are being sent may hold as much as the segments, and those in protobuf that are not
    sent yet a quarter of all caches.

    Args:
        cache_bytes: what `--cache-size` says.
        slack_mb: what is neither: the interpreter's own, and what the allocator keeps.
    """
    beside = Memory(cache_bytes=cache_bytes).segments_bytes + cache_bytes // 4
    return (cache_bytes + beside) / 1e6 + slack_mb


def cache_fills(metrics: str) -> dict[str, int]:
    """Return the bytes that caches have, by name, from the text of a server's metrics."""
    rows = re.findall(r'^kubetrio_cache_bytes\{cache="([^"]+)"\} (\S+)$', metrics, re.MULTILINE)
    return {name: int(float(value)) for name, value in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What was seen in an interval.

    Args:
        ended_s: when it ended, in seconds from the start.
        lists: answered.
        writes: made.
        received_mb: bytes of them.
        memory_mb: of the server at the end, without files that it maps.
        peak_mb: the most of that.
        caches: bytes by cache, at the end.
    """

    ended_s: float
    lists: int
    writes: int
    received_mb: float
    memory_mb: float
    peak_mb: float
    caches: Mapping[str, int]

    def __str__(self) -> str:
        fills = ", ".join(f"{name} {size / MIB:.1f}" for name, size in self.caches.items())
        return (
            f"{self.ended_s:5.0f} s: {self.lists:,} lists of {self.received_mb:,.0f} MB,"
            f" {self.writes:,} writes; memory {self.memory_mb:.0f} MB,"
            f" at most {self.peak_mb:.0f}; MiB of caches: {fills}"
        )


def broken(seen: Interval, cache_bytes: int, begun_mb: float, slack_mb: float) -> list[str]:
    """Return which bounds an interval broke, as texts.

    Args:
        seen: the interval.
        cache_bytes: what `--cache-size` says.
        begun_mb: memory before any list.
        slack_mb: see `allowed_mb`.
    """
    over = [
        f"{name} has {seen.caches[name]:,} of {most:,} bytes"
        for name, most in bounds(cache_bytes).items()
        if seen.caches.get(name, 0) > most
    ]
    most_mb = begun_mb + allowed_mb(cache_bytes, slack_mb)
    if seen.peak_mb > most_mb:
        over.append(f"memory {seen.peak_mb:.0f} MB, of which {most_mb:.0f} are allowed")
    return over


class Soak:
    """One server under lists.

    Args:
        run: the server.
        objects: in its collection.
        rng: what decides about lists.

    Attributes:
        written: how often objects were replaced.
    """

    def __init__(self, run: Running, objects: int, rng: random.Random) -> None:
        self._run = run
        self._objects = objects
        self._rng = rng
        self._began = perf_counter()
        self._numbers = itertools.count()
        self.written = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the collection for the length of a block.

        Raises:
            BenchError: a watch ended before.
        """
        run = self._run
        path = f"{run.collection}?watch=1&resourceVersion={revision_of(run)}"
        watches = WatchSpec(
            endpoint=run.endpoint, path=f"{path}&timeoutSeconds={WATCH_S}", watchers=WATCHERS
        )
        with tools.running("watchers", dataclasses.asdict(watches)) as watching:
            watching.answer()
            yield
            if watching.said():
                raise BenchError(f"watches ended: {watching.answer()}")

    @contextlib.contextmanager
    def _writing(self, seconds: float) -> Iterator[None]:
        """Write every other interval: collections that are always written are not kept."""
        if next(self._numbers) % 2:
            yield
            return
        run = self._run
        writes = LoadSpec(
            endpoint=run.endpoint,
            ops=(requests.put(run.endpoint, run.namespace, self._objects),),
            connections=WRITERS,
            seconds=seconds,
        )
        with tools.running("load", dataclasses.asdict(writes)) as writing:
            yield
            self.written += load.result(writing.answer()).answered

    def interval(self, seconds: float, places: Places) -> Interval:
        """List for some time.

        Args:
            seconds: how long.
            places: where lists begin that do not begin now.

        Raises:
            BenchError: the server answered wrongly, or no more.
        """
        run = self._run
        spec = LoadSpec(
            endpoint=run.endpoint,
            ops=drawn(self._rng, run, places),
            connections=READERS,
            seconds=seconds,
        )
        peak, before = 0.0, self.written
        with (
            self._writing(seconds),
            tools.running("load", dataclasses.asdict(spec)) as listing,
        ):
            while not listing.said():
                sleep(LOOK_S)
                peak = max(peak, process.anonymous_mb(run.pids))
            listed = load.result(listing.answer())
        now = process.anonymous_mb(run.pids)
        fills = cache_fills(metrics_of(run.endpoint))
        return Interval(
            ended_s=perf_counter() - self._began,
            lists=listed.answered,
            writes=self.written - before,
            received_mb=listed.bytes_per_s * (listed.ended - listed.started) / 1e6,
            memory_mb=now,
            peak_mb=max(peak, now),
            caches={name: fills.get(name, 0) for name in bounds(MIB)},
        )

    def places(self) -> Places:
        """Return where lists begin from now on that do not begin at the newest revision."""
        first = self._run.endpoint.call("GET", f"{self._run.collection}?limit={PAGE}")
        meta = first["metadata"]
        return Places(token=str(meta["continue"]), revision=str(meta["resourceVersion"]))


def metrics_of(endpoint: Endpoint) -> str:
    """Return the text of a server's metrics."""
    return str(endpoint.call("GET", "/metrics")["text"])


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    made.add_argument("--seconds", type=float, default=900.0, help="how long (900)")
    made.add_argument("--interval", type=float, default=15.0, help="seconds by line (15)")
    made.add_argument("--objects", type=int, default=3_000, help="of 1 KB in the collection (3000)")
    made.add_argument("--cache-mib", type=int, default=32, help="cache of the server (32)")
    made.add_argument("--slack-mb", type=float, default=48.0, help="memory beside caches (48)")
    made.add_argument("--seed", type=int, default=0, help="of what is drawn (0)")
    made.add_argument("--work-dir", type=Path, help="where the data directory goes")
    made.add_argument("--server-flag", action="append", default=[], metavar="FLAG")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all intervals there")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak; 0 when every bound held, 1 otherwise."""
    options = parser().parse_args(arguments)
    cache_bytes = options.cache_mib * MIB
    flags = (*FLAGS, f"--cache-size={options.cache_mib}Mi", *options.server_flag)
    rng = random.Random(options.seed)
    intervals: list[Interval] = []
    over: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kubetrio-bench-", dir=options.work_dir) as folder:
        try:
            with Kubetrio(Path(folder), flags).running() as run:
                sleep(SETTLE_S)
                begun = process.anonymous_mb(run.pids)
                run.fill(0, options.objects)
                most = begun + allowed_mb(cache_bytes, options.slack_mb)
                print(f"memory {begun:.0f} MB at the start, {most:.0f} MB are allowed", flush=True)
                soak = Soak(run, options.objects, rng)
                places, end = soak.places(), perf_counter() + options.seconds
                with soak.watched():
                    while perf_counter() < end:
                        seen = soak.interval(options.interval, places)
                        places = soak.places()
                        print(seen, flush=True)
                        intervals.append(seen)
                        for text in broken(seen, cache_bytes, begun, options.slack_mb):
                            print(f"over: {text}", flush=True)
                            over.append(text)
            if options.json:
                data = {
                    "what": "soak",
                    "facts": facts.gather(Path(folder)),
                    "seed": options.seed,
                    "begun_mb": begun,
                    "allowed_mb": most,
                    "intervals": [dataclasses.asdict(one) for one in intervals],
                    "over": over,
                }
                options.json.write_text(json.dumps(data, indent=1))
        except (BenchError, OSError) as error:
            print(f"failed: {error}")
            return 1
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
