"""Rows about lists: whole, in pages, and what a large one does to memory and to others."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import load, pages, probe, process, requests, server, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError, Unavailable
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.pages import PagesSpec
from benchmarks.probe import ProbeResult, ProbeSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject, revision_of

PAGE = 500
COMPACTION_S = 5
PROBED = "/api/v1/namespaces/default"


def lists(
    endpoint: Endpoint, path: str, seconds: float, accept: str = "", encoding: str = ""
) -> LoadResult:
    """Request one list over and over on one connection, after one to warm up, three at least."""
    op = requests.fixed(endpoint, path, label="list", accept=accept, encoding=encoding)
    once = LoadSpec(endpoint=endpoint, ops=(op,), connections=1)
    first = load.run(dataclasses.replace(once, count=1))
    count = max(3, int(seconds / max(first.ended - first.started, 1e-3)))
    return load.run(dataclasses.replace(once, count=count))


@contextlib.contextmanager
def _list(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with (
        subject.running(objects=lab.plan.listed) as run,
        lab.yardsticks.rows(run.endpoint, run.collection, f"list-{subject.label}") as bare,
    ):

        def sample() -> Sample:
            yardstick = lists(bare, "/", lab.plan.seconds)
            result = lists(run.endpoint, run.collection, lab.plan.seconds)
            return Sample(
                value=result.p50_ms,
                yardstick=yardstick.p50_ms,
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
                note=f"{result.bytes_per_s / 1e6:,.0f} MB/s,"
                f" yardstick {yardstick.bytes_per_s / 1e6:,.0f} MB/s",
            )

        yield sample


def _as(accept: str, encoding: str = "") -> Callable[[Lab, Subject], Opened]:
    """A list in another representation, beside the same list as JSON."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running(objects=lab.plan.listed) as run:

            def sample() -> Sample:
                yardstick = lists(run.endpoint, run.collection, lab.plan.seconds)
                asked = (run.collection, lab.plan.seconds, accept, encoding)
                result = lists(run.endpoint, *asked)
                calm = calm_probe(lab, run)
                spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)
                during, _ = probe.during(spec, lambda: lists(run.endpoint, *asked))
                return Sample(
                    value=result.p50_ms,
                    yardstick=yardstick.p50_ms,
                    p50_ms=result.p50_ms,
                    p99_ms=result.p99_ms,
                    note=f"a GET waits {during.max_ms:.0f} ms at most meanwhile,"
                    f" in calm {calm.max_ms:.0f} ms",
                )

            yield sample

    return opened


@contextlib.contextmanager
def _paged(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with (
        subject.running(objects=lab.plan.listed) as run,
        lab.yardsticks.rows(run.endpoint, run.collection, f"paged-{subject.label}") as bare,
    ):

        def sample() -> Sample:
            yardstick = lists(bare, "/", lab.plan.seconds)
            result = pages.run(
                PagesSpec(
                    endpoint=run.endpoint,
                    path=run.collection,
                    limit=PAGE,
                    seconds=lab.plan.seconds,
                )
            )
            return Sample(
                value=result.list_ms,
                yardstick=yardstick.p50_ms,
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
                note=f"{result.pages} pages, latency is of a page",
            )

        yield sample


@contextlib.contextmanager
def _selected(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    """A list of one object in a hundred by its label, beside the whole list."""
    with subject.running(objects=lab.plan.listed) as run:
        content = requests.body().replace('"app":"bench"', '"app":"rare"')
        first = 50_000_000  # behind the objects that are there
        rare = requests.create(run.endpoint, run.collection, content, first)
        count = max(1, lab.plan.listed // 100)
        load.run(LoadSpec(endpoint=run.endpoint, ops=(rare,), connections=1, count=count))

        def cpu_ms(path: str) -> tuple[float, LoadResult]:
            lists(run.endpoint, path, lab.plan.seconds / 4)  # what is kept is made then
            cpu_s, _, result = _cpu_and_writes(
                run, lambda: lists(run.endpoint, path, lab.plan.seconds)
            )
            return 1000 * cpu_s / result.answered, result

        def sample() -> Sample:
            whole_ms, _ = cpu_ms(run.collection)
            rare_ms, result = cpu_ms(f"{run.collection}?labelSelector=app%3Drare")
            return Sample(
                value=rare_ms, yardstick=whole_ms, p50_ms=result.p50_ms, p99_ms=result.p99_ms
            )

        yield sample


def _cpu_and_writes(run: Running, work: Callable[[], LoadResult]) -> tuple[float, int, LoadResult]:
    """CPU seconds of the server and revisions made while something is done, and what came of it."""
    revision, cpu = int(revision_of(run)), process.cpu_seconds(run.pids)
    result = work()
    return process.cpu_seconds(run.pids) - cpu, int(revision_of(run)) - revision, result


@contextlib.contextmanager
def _busy(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    """CPU of a list while its collection changes, without that of the writes, and in calm."""
    with subject.running(objects=lab.plan.listed) as run:
        if not run.pids:
            raise Unavailable("CPU time needs the process")
        put = requests.put(run.endpoint, run.namespace, lab.plan.listed)
        writing = LoadSpec(
            endpoint=run.endpoint, ops=(put,), connections=4, seconds=lab.plan.seconds
        )

        def listing() -> LoadResult:
            return lists(run.endpoint, run.collection, lab.plan.seconds)

        def sample() -> Sample:
            listing()
            calm_s, _, calm = _cpu_and_writes(run, listing)
            writes_s, writes, _ = _cpu_and_writes(run, lambda: load.run(writing))
            endless = dataclasses.replace(writing, seconds=600, announce=True)
            with tools.running("load", dataclasses.asdict(endless)) as running:
                running.answer()
                both_s, beside, busy = _cpu_and_writes(run, listing)
            spent = both_s - writes_s * beside / max(writes, 1)
            return Sample(
                value=spent * 1e3 / (busy.requests + 1),  # and the one to warm up
                yardstick=calm_s * 1e3 / (calm.requests + 1),
                note=f"{beside / (busy.requests + 1):.0f} writes for each list",
            )

        yield sample


@contextlib.contextmanager
def _memory(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.large) as run:

        def sample() -> Sample:
            before = process.memory_mb(run.pids)
            process.forget_peak(run.pids)
            result = lists(run.endpoint, run.collection, 0)
            peak = process.memory_mb(run.pids, peak=True)
            body = result.bytes_per_s * (result.ended - result.started) / result.requests
            return Sample(
                value=peak - before,
                note=f"peak {peak:,.0f} MB, one list is {body / 1e6:,.0f} MB"
                f" in {result.p50_ms:,.0f} ms",
            )

        yield sample


def calm_probe(lab: Lab, run: Running) -> ProbeResult:
    """The probe while nothing else happens."""
    return probe.run(
        ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=max(2.0, lab.plan.seconds))
    )


def pause_sample(calm: ProbeResult, during: ProbeResult, note: str) -> Sample:
    """The longest wait of a probe beyond the longest in calm."""
    return Sample(
        value=max(0.0, during.max_ms - calm.max_ms),
        p50_ms=during.p50_ms,
        p99_ms=during.p99_ms,
        note=f"longest {during.max_ms:.1f} ms, calm {calm.max_ms:.1f} ms; {note}",
    )


@contextlib.contextmanager
def _list_pause(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.large) as run:

        def sample() -> Sample:
            calm = calm_probe(lab, run)
            spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)
            during, result = probe.during(
                spec, lambda: lists(run.endpoint, run.collection, lab.plan.seconds)
            )
            return pause_sample(
                calm, during, f"{result.requests + 1} lists of {result.p50_ms:,.0f} ms each"
            )

        yield sample


@contextlib.contextmanager
def _compaction_pause(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    flags = tuple(flag % COMPACTION_S for flag in server.COMPACTION_FLAGS)
    with subject.running(objects=lab.plan.small, flags=flags) as run:

        def sample() -> Sample:
            calm = calm_probe(lab, run)
            load.run(
                LoadSpec(
                    endpoint=run.endpoint,
                    ops=(requests.put(run.endpoint, run.namespace, lab.plan.small),),
                    connections=16,
                    count=lab.plan.churn,
                )
            )
            spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)
            during, waited = probe.during(spec, lambda: _wait_compacted(run))
            return pause_sample(
                calm, during, f"{lab.plan.churn:,} writes compacted within {waited:.0f} s"
            )

        yield sample


def _wait_compacted(run: Running) -> float:
    """Wait until the newest revision of now is refused as too old; the seconds it took.

    Raises:
        BenchError: that does not happen within ten intervals.
    """
    revision = run.endpoint.call("GET", f"{run.collection}?limit=1")["metadata"]["resourceVersion"]
    path = f"{run.collection}?limit=1&resourceVersion={revision}&resourceVersionMatch=Exact"
    # One more write, since the newest revision of all is never compacted.
    run.endpoint.call(
        "POST",
        run.collection,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"generateName": "after-churn-"},
        },
    )
    begin = perf_counter()
    while perf_counter() < begin + 10 * COMPACTION_S:
        if run.endpoint.call("GET", path, accept=(200, 410))["httpStatus"] == 410:
            return perf_counter() - begin
        sleep(0.5)
    raise BenchError(f"nothing was compacted within {10 * COMPACTION_S} s")


ROWS = (
    BenchmarkRow(
        name="list",
        title="LIST of 10,000 ConfigMaps of 1 KB",
        unit="ms",
        open=_list,
        yardstick="apsw-rows",
        target=Target("ratio", "<=", 2.5),
    ),
    BenchmarkRow(
        name="list-paged",
        title="LIST of 10,000 in pages of 500",
        unit="ms",
        open=_paged,
        yardstick="apsw-rows",
    ),
    BenchmarkRow(
        name="list-protobuf",
        title="LIST of 10,000 as protobuf",
        unit="ms",
        open=_as(requests.PROTOBUF),
        yardstick="json",
    ),
    BenchmarkRow(
        name="list-table",
        title="LIST of 10,000 as Table",
        unit="ms",
        open=_as(requests.TABLE),
        yardstick="json",
    ),
    BenchmarkRow(
        name="list-metadata",
        title="LIST of 10,000, metadata alone",
        unit="ms",
        open=_as(requests.METADATA),
        yardstick="json",
    ),
    BenchmarkRow(
        name="list-gzip",
        title="LIST of 10,000 with gzip",
        unit="ms",
        open=_as("", "gzip"),
        yardstick="json",
    ),
    BenchmarkRow(
        name="list-label",
        title="CPU of a LIST of 100 of 10,000 by label",
        unit="ms",
        open=_selected,
        yardstick="whole",
        target=Target("ratio", "<=", 0.05),
    ),
    BenchmarkRow(
        name="list-busy",
        title="CPU of a LIST of 10,000 while 4 connections write to it, without the writes",
        unit="ms",
        open=_busy,
        yardstick="calm",
        target=Target("ratio", "<=", 1.5),
    ),
    BenchmarkRow(
        name="list-large-rss",
        title="memory grown by a LIST of 100,000",
        unit="MB",
        open=_memory,
    ),
    BenchmarkRow(
        name="list-large-pause",
        title="pause of a GET during a LIST of 100,000",
        unit="ms",
        open=_list_pause,
        target=Target("value", "<", 20),
    ),
    BenchmarkRow(
        name="compaction-pause",
        title="pause of a GET during compaction",
        unit="ms",
        open=_compaction_pause,
        target=Target("value", "<", 20),
        most_rounds=2,
    ),
)
