"""Runs rows round by round and keeps what they gave."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.errors import BenchError, Unavailable
from benchmarks.rows import BenchmarkRow, Lab, Sample
from benchmarks.subjects import Subject


@dataclass(slots=True)
class Cell:
    """One row on one server.

    Args:
        samples: one a round.
        problem: why there are none.
        failed: whether the problem is a failure, not merely a row that does not apply.
    """

    samples: list[Sample] = field(default_factory=list)
    problem: str = ""
    failed: bool = False

    def median(self, name: str) -> float | None:
        """Median over the rounds of a field or property of a sample."""
        values = [value for sample in self.samples if (value := getattr(sample, name)) is not None]
        return statistics.median(values) if values else None

    @property
    def note(self) -> str:
        """Note of the round whose value is the median, or the problem."""
        if not self.samples:
            return self.problem
        middle = statistics.median_low([sample.value for sample in self.samples])
        return next(sample.note for sample in self.samples if sample.value == middle)

    def as_json(self) -> dict[str, Any]:
        """Everything, for --json."""
        medians = (
            *("value", "yardstick", "ratio", "p50_ms", "p99_ms", "p50_ratio", "p99_ratio"),
            *("readyz_p99_ms", "kept_mb"),
        )
        return {
            "problem": self.problem,
            "failed": self.failed,
            "median": {name: self.median(name) for name in medians},
            "rounds": [dataclasses.asdict(sample) for sample in self.samples],
        }


@dataclass(slots=True)
class Result:
    """One row on all servers, by label."""

    row: BenchmarkRow
    cells: dict[str, Cell]

    def met(self, label: str) -> bool | None:
        """Whether a server meets all of the row's targets; None without any or without a number."""
        cell = self.cells.get(label)
        if cell is None or not self.row.targets or cell.median("value") is None:
            return None
        return all(target.met(cell.median(target.on)) for target in self.row.targets)

    def as_json(self) -> dict[str, Any]:
        """Everything, for --json."""
        row = self.row
        return {
            "name": row.name,
            "title": row.title,
            "unit": row.unit,
            "yardstick": row.yardstick,
            "target": dataclasses.asdict(row.target) if row.target else None,
            "latency": [dataclasses.asdict(target) for target in row.latency],
            "beside": [dataclasses.asdict(target) for target in row.beside],
            "met": {label: self.met(label) for label in self.cells},
            "servers": {label: cell.as_json() for label, cell in self.cells.items()},
        }


def measure(
    lab: Lab, row: BenchmarkRow, subjects: Sequence[Subject], rounds: int, place: str
) -> Result:
    """Measure one row on all servers, taking turns; a problem ends the row on that server only.

    Args:
        lab: what the row works with.
        row: the row.
        subjects: the servers.
        rounds: rounds wanted; the row may ask for fewer.
        place: such as "3/20", for the progress line.
    """
    result = Result(row, {subject.label: Cell() for subject in subjects})
    rounds = min(rounds, row.most_rounds)
    with _cleaned(place, row) as stack:
        samplers: dict[str, Callable[[], Sample]] = {}
        for subject in subjects:
            with _problems(result.cells[subject.label], place, row, subject):
                progress(f"[{place}] {row.name} {subject.label}: preparing")
                samplers[subject.label] = stack.enter_context(row.open(lab, subject))
        for number in range(1, rounds + 1):
            for subject in subjects:
                cell = result.cells[subject.label]
                if cell.problem:
                    continue
                with _problems(cell, place, row, subject):
                    progress(f"[{place}] {row.name} {subject.label}: round {number} of {rounds}")
                    cell.samples.append(samplers[subject.label]())
                    value = cell.samples[-1].value
                    progress(
                        f"[{place}] {row.name} {subject.label}: round {number} of {rounds}:"
                        f" {value:,.4g} {row.unit}",
                        keep=True,
                    )
    return result


@contextlib.contextmanager
def _cleaned(place: str, row: BenchmarkRow) -> Iterator[contextlib.ExitStack]:
    """A stack whose own end may fail: what a row leaves behind must not lose its numbers."""
    stack = contextlib.ExitStack()
    try:
        yield stack
    finally:
        try:
            stack.close()
        except (BenchError, OSError) as error:
            progress(f"[{place}] {row.name}: cleaning up: {error}", keep=True)


@contextlib.contextmanager
def _problems(cell: Cell, place: str, row: BenchmarkRow, subject: Subject) -> Iterator[None]:
    try:
        yield
    except (BenchError, OSError, ImportError) as error:
        cell.problem = str(error) or repr(error)
        cell.failed = not isinstance(error, Unavailable)
        cell.samples.clear()
        progress(f"[{place}] {row.name} {subject.label}: {cell.problem}", keep=True)


def progress(text: str, *, keep: bool = False) -> None:
    """Show where the run is, on stderr."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K" + ("\n" if keep else ""))
    elif keep:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()
