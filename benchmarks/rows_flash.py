"""Rows about a device that is left alone: bytes on flash in an hour."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import process
from benchmarks.clock import perf_counter, sleep
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_edge import EDGE
from benchmarks.subjects import Running, Subject

HOUR_S = 3600.0
SETTLES = 2.2
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
EVENTS = "/api/v1/namespaces/default/events"
NODE_LEASE_S = 10.0  # as kubelets renew it
EVENT_S = 1.0

Answer = dict[str, Any]
Write = Callable[[Running, int, Answer], Answer]
"""Makes a write, of its number and the answer to the one before it."""


def _lease(run: Running, number: int, before: Answer) -> Answer:
    """Renew the Lease of a node; the first time, make it."""
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": before.get("metadata") or {"name": "node", "namespace": "kube-node-lease"},
        "spec": {
            "holderIdentity": "node",
            "leaseDurationSeconds": 40,
            "renewTime": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}"
            f":{number % 60:02}.000000Z",
        },
    }
    method, path = ("PUT", f"{LEASES}/node") if number else ("POST", LEASES)
    return run.endpoint.call(method, path, body)


def _event(run: Running, number: int, _: Answer) -> Answer:
    """An Event, each of them new."""
    meta = {"name": f"event-{number}", "namespace": "default"}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": {"kind": "Node", "name": "node"},
        "type": "Normal",
        "reason": "Reading",
        "message": "The sensor has been read, and all is as it should be.",
    }
    return run.endpoint.call("POST", EVENTS, body)


def _by_hour(lab: Lab, run: Running, write: Write | None, every_s: float) -> float:
    """KB of 10^3 bytes on the disk in an hour with a write at an interval, or with none."""
    answer: Answer = {}
    if write is not None:
        answer = write(run, 0, answer)
    sleep(SETTLES * lab.plan.quiet_s)  # what belongs to the start is written, and compacted
    os.sync()
    before, began = process.written_bytes(run.pids), perf_counter()
    until = began + lab.plan.quiet_s
    if write is None:
        sleep(lab.plan.quiet_s)
    else:
        due = began
        for number in itertools.count(1):
            if due >= until:
                break
            answer = write(run, number, answer)
            due += every_s
            sleep(max(0.0, min(due, until) - perf_counter()))
    os.sync()
    written = process.written_bytes(run.pids) - before
    return written / (perf_counter() - began) * HOUR_S / 1e3


def _opened(write: Write | None, every_s: float) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        def sample() -> Sample:
            found = []
            for flags in (EDGE, ()):
                with subject.running(flags=flags) as run:
                    found.append(_by_hour(lab, run, write, every_s))
            return Sample(value=found[0], yardstick=found[1])

        yield sample

    return opened


def _row(
    name: str, title: str, opened: Callable[[Lab, Subject], Opened], target: float
) -> BenchmarkRow:
    return BenchmarkRow(
        name=name,
        title=title,
        unit="KB/h",
        open=opened,
        yardstick="default profile",
        target=Target("value", "<", target),
        most_rounds=1,
    )


ROWS = (
    _row(
        "flash-idle",
        "bytes on the disk in an hour without a client, edge profile",
        _opened(None, 0.0),
        1,
    ),
    _row(
        "flash-lease",
        "the same while a node renews its Lease each 10 s",
        _opened(_lease, NODE_LEASE_S),
        1_500,
    ),
    _row(
        "flash-event",
        "the same with an Event each second",
        _opened(_event, EVENT_S),
        5_000,
    ),
)
