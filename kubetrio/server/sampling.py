"""Where the numbers of the last hour come from."""

from __future__ import annotations

from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path

from kubetrio.observe.lasthour import Sample
from kubetrio.observe.metrics import Metrics
from kubetrio.store.model import Store

STATM, IO = Path("/proc/self/statm"), Path("/proc/self/io")
WRITTEN = b"write_bytes: "


def sampler(metrics: Metrics, store: Store, wall: Callable[[], float]) -> Callable[[], Sample]:
    """Return what reads a sample of a server.

    Args:
        metrics: counts requests.
        store: where objects are.
        wall: the wall clock, seconds since the epoch.
    """
    requests = metrics.totals()

    def read() -> Sample:
        nonlocal requests
        before, requests = requests, metrics.totals()
        numbers = store.statistics()
        return Sample(
            time=wall(),
            requests=requests.requests,
            seconds=requests.seconds,
            slowest=requests.since(before),
            refused=requests.refused,
            watches=metrics.watches(),
            memory=resident_bytes(),
            size=numbers.size_bytes,
            written=written_bytes(),
            revision=numbers.revision,
        )

    return read


def resident_bytes() -> int:
    """Return the memory of the process; 0 where there is no ``/proc`` (proc_pid_statm(5))."""
    try:
        return int(STATM.read_bytes().split()[1]) * PAGESIZE
    except (OSError, IndexError, ValueError):
        return 0


def written_bytes() -> int:
    """Return what the process has had written to disks; 0 where the system does not say."""
    try:
        text = IO.read_bytes()
    except OSError:
        return 0
    _, found, rest = text.partition(WRITTEN)
    # "cancelled_write_bytes" comes behind it in proc_pid_io(5)
    return int(rest.split(b"\n", 1)[0]) if found else 0
