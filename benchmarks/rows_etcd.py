"""Rows about replicas on etcd: one beside a server on SQLite, and several of them.

Values are what a server does in a second of its own CPU time, so that the disk and what else runs
on the machine count little; the CPU of etcd is not in it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks import load, process, requests, tools
from benchmarks.clock import sleep
from benchmarks.errors import BenchError, Unavailable
from benchmarks.load import LoadSpec
from benchmarks.requests import Op
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_overhead import ORDER
from benchmarks.subjects import Kubetrio, Running, Subject, revision_of
from benchmarks.watchers import WatchResult, WatchSpec
from kubetrio.testing.etcd import MISSING, binary, etcd

CONNECTIONS = 16
LISTED = 100
WATCHERS = 100
ANY = "?resourceVersion=0"
NEW = itertools.count(1_000_000, 1_000_000)
_PREFIXES = itertools.count()
Make = Callable[[Lab, Running], Op]


@dataclass(slots=True)
class Work:
    """What a server did, and what it took.

    Args:
        done: requests answered, or events delivered.
        cpu_s: of the server.
        wall_s: seconds.
        etcd_s: CPU of etcd, 0 where it is not ours.
    """

    done: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    etcd_s: float = 0.0

    @property
    def by_cpu(self) -> float:
        """How much by second of CPU."""
        return self.done / max(self.cpu_s, 0.01)  # a tick

    @property
    def told(self) -> str:
        """For a note."""
        each = self.cpu_s * 1e6 / max(self.done, 1)
        return f"{each:.0f} us CPU each, {self.done / self.wall_s:,.0f}/s"


@contextlib.contextmanager
def _etcd(subject: Kubetrio) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Flags of a replica on an etcd, and the processes of that etcd if it is ours.

    Raises:
        Unavailable: there is none.
    """
    prefix = f"--etcd-prefix=/bench-{os.getpid()}-{next(_PREFIXES)}"
    if subject.etcd:
        yield ("--etcd-servers", subject.etcd, prefix), ()
        return
    if binary() is None:
        raise Unavailable(MISSING)
    with subject.folder() as folder, etcd(folder) as cluster:
        pids = [member.process.pid for member in cluster.members if member.process]
        yield ("--etcd-servers", ",".join(cluster.urls), prefix), pids


def _loaded(lab: Lab, run: Running, op: Op, etcd_pids: Sequence[int], slices: int) -> Work:
    """Requests of one kind for a slice of the plan's time."""
    before = process.cpu_seconds(run.pids), _cpu(etcd_pids)
    found = load.run(
        LoadSpec(
            endpoint=run.endpoint,
            ops=(op,),
            connections=CONNECTIONS,
            seconds=lab.plan.seconds * 2 / slices,
        )
    )
    return Work(
        found.answered,
        process.cpu_seconds(run.pids) - before[0],
        found.ended - found.started,
        _cpu(etcd_pids) - before[1],
    )


def _cpu(pids: Sequence[int]) -> float:
    return process.cpu_seconds(pids) if pids else 0.0


def _watched(lab: Lab, run: Running, etcd_pids: Sequence[int], slices: int) -> Work:
    """One writer and many watchers for a slice of the plan's time.

    Raises:
        BenchError: a watcher got another number of events than the others.
    """
    path = f"{run.collection}?watch=1&resourceVersion={revision_of(run)}"
    spec = WatchSpec(endpoint=run.endpoint, path=path, watchers=WATCHERS)
    with tools.running("watchers", dataclasses.asdict(spec)) as running:
        running.answer()
        sleep(0.2)
        before = process.cpu_seconds(run.pids), _cpu(etcd_pids)
        written = load.run(
            LoadSpec(
                endpoint=run.endpoint,
                ops=(requests.put(run.endpoint, run.namespace, LISTED),),
                connections=1,
                seconds=lab.plan.seconds * 2 / slices,
            )
        )
        running.tell(written.answered)
        seen = WatchResult(**running.answer())
        after = process.cpu_seconds(run.pids), _cpu(etcd_pids)
    if seen.fewest != seen.most:
        raise BenchError(f"watchers saw {seen.fewest} to {seen.most} events")
    return Work(
        seen.events,
        after[0] - before[0],
        max(seen.ended, written.ended) - written.started,
        after[1] - before[1],
    )


Measure = Callable[[Lab, Running, Sequence[int], int], Work]


def _requests(make: Make) -> Measure:
    def measure(lab: Lab, run: Running, etcd_pids: Sequence[int], slices: int) -> Work:
        return _loaded(lab, run, make(lab, run), etcd_pids, slices)

    return measure


def _beside_sqlite(measure: Measure, objects: int) -> Callable[[Lab, Subject], Opened]:
    """A replica beside a server on SQLite, taking turns; another server alone."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        if not isinstance(subject, Kubetrio):
            with subject.running(objects=objects) as run:
                measure(lab, run, (), len(ORDER))  # to warm up
                yield lambda: _alone(lab, run, measure)
            return
        with (
            _etcd(subject) as (flags, etcd_pids),
            subject.running(objects=objects, flags=flags) as replica,
            subject.running(objects=objects) as sqlite,
        ):
            for run in (replica, sqlite):
                measure(lab, run, (), len(ORDER))  # to warm up
            yield lambda: _in_turns(lab, replica, sqlite, etcd_pids, measure)

    return opened


def _alone(lab: Lab, run: Running, measure: Measure) -> Sample:
    work = measure(lab, run, (), len(ORDER) // 2)
    return Sample(value=work.by_cpu, note=work.told)


def _in_turns(
    lab: Lab, replica: Running, sqlite: Running, etcd_pids: Sequence[int], measure: Measure
) -> Sample:
    work = {True: Work(), False: Work()}
    for first in ORDER:
        one = measure(lab, replica if first else sqlite, etcd_pids if first else (), len(ORDER))
        so_far = work[first]
        so_far.done += one.done
        so_far.cpu_s += one.cpu_s
        so_far.wall_s += one.wall_s
        so_far.etcd_s += one.etcd_s
    etcd_us = work[True].etcd_s * 1e6 / max(work[True].done, 1)
    beside = f" and {etcd_us:.0f} us of etcd" if etcd_us else ""
    return Sample(
        value=work[True].by_cpu,
        yardstick=work[False].by_cpu,
        note=f"{work[True].told}{beside}; on SQLite {work[False].told}",
    )


def _several(replicas: int) -> Callable[[Lab, Subject], Opened]:
    """Consistent GETs of several replicas at once, each with connections of its own."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        if not isinstance(subject, Kubetrio):
            raise Unavailable("replicas are started by the benchmark")
        with contextlib.ExitStack() as stack:
            flags, etcd_pids = stack.enter_context(_etcd(subject))
            runs = [stack.enter_context(subject.running(objects=LISTED, flags=flags))]
            runs += [
                stack.enter_context(subject.joined(runs[0].namespace, flags))
                for _ in range(replicas - 1)
            ]
            yield lambda: _at_once(lab, runs, etcd_pids)

    return opened


def _at_once(lab: Lab, runs: Sequence[Running], etcd_pids: Sequence[int]) -> Sample:
    pids = [pid for run in runs for pid in run.pids]
    before = process.cpu_seconds(pids), _cpu(etcd_pids)
    with contextlib.ExitStack() as stack:
        going = [
            stack.enter_context(
                tools.running(
                    "load",
                    dataclasses.asdict(
                        LoadSpec(
                            endpoint=run.endpoint,
                            ops=(requests.get(run.endpoint, run.namespace, LISTED),),
                            connections=CONNECTIONS,
                            seconds=lab.plan.seconds,
                        )
                    ),
                )
            )
            for run in runs
        ]
        found = [each.answer() for each in going]
    used = process.cpu_seconds(pids) - before[0], _cpu(etcd_pids) - before[1]
    done = sum(each["answered"] for each in found)
    rate = sum(each["rate"] for each in found)
    return Sample(
        value=rate,
        note=f"{used[0] * 1e6 / max(done, 1):.0f} us CPU each of {len(runs)} replicas"
        f" and {used[1] * 1e6 / max(done, 1):.0f} us of etcd",
    )


def _post(lab: Lab, run: Running) -> Op:
    del lab
    return requests.post(run.endpoint, run.namespace, next(NEW))


def _get(query: str) -> Make:
    def made(lab: Lab, run: Running) -> Op:
        del lab
        return requests.get(run.endpoint, run.namespace, LISTED, query=query)

    return made


def _list(lab: Lab, run: Running) -> Op:
    del lab
    return requests.fixed(run.endpoint, f"{run.collection}{ANY}", label="list")


NOT_SLOWER = Target("ratio", ">=", 0.85)


def _row(
    name: str, title: str, measure: Measure, target: Target | None = None, unit: str = "req/CPU s"
) -> BenchmarkRow:
    return BenchmarkRow(
        name=f"etcd-{name}",
        title=f"{title}, of a replica on etcd",
        unit=unit,
        open=_beside_sqlite(measure, LISTED),
        yardstick="sqlite",
        target=target,
    )


ROWS = (
    _row("get-16", "GET 1 KB of any version, 16 connections", _requests(_get(ANY)), NOT_SLOWER),
    _row("get-fresh-16", "consistent GET 1 KB, 16 connections", _requests(_get(""))),
    _row("list-16", "LIST of 100 of any version, 16 connections", _requests(_list), NOT_SLOWER),
    _row("watch-100", "1 writer, 100 watchers", _watched, NOT_SLOWER, "events/CPU s"),
    _row("post-16", "durable POST 1 KB, 16 connections", _requests(_post)),
    *(
        BenchmarkRow(
            name=f"etcd-replicas-{count}",
            title=f"consistent GET 1 KB of {count} replicas, 16 connections of each",
            unit="req/s",
            open=_several(count),
        )
        for count in (1, 2, 3)
    ),
)
