"""The real clock: benchmarks measure it, so the ban on `time` is lifted here and nowhere else."""

from __future__ import annotations

from time import perf_counter, perf_counter_ns, process_time, sleep, strftime  # noqa: TID251

__all__ = ["perf_counter", "perf_counter_ns", "process_time", "sleep", "strftime"]
