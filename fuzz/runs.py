"""What a run of targets was, as a value that reports are made of."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time, strftime  # noqa: TID251  (CPU time and a date that are told)
from typing import Any

import kubetrio
from fuzz.rounds import Target
from kubetrio.env import monotonic

MOST_POINTS = 120  # of the course of one target
MOST_TOLD = 2000  # characters of a finding
STATUS = Path("/proc/self/status")


@dataclass(slots=True)
class Ran:
    """How a target ran.

    Args:
        target: its name.
        invariant: in one sentence.
        seed: of its first round.
        rounds: how many.
        executions: inputs or requests.
        cpu_s: seconds of CPU.
        found: what was found, each with how to repeat it.
        course: seconds since its beginning, memory of the process in MB and seconds of the round,
            of rounds spread over the run.
    """

    target: str
    invariant: str
    seed: int
    rounds: int = 0
    executions: int = 0
    cpu_s: float = 0.0
    found: list[str] = field(default_factory=list)
    course: list[tuple[float, float, float]] = field(default_factory=list)

    def line(self) -> str:
        """The numbers, in a line."""
        numbers = f"{self.executions:10d} executions {self.cpu_s:9.1f} CPU s"
        return f"{self.target:16} {numbers} {len(self.found):4d} found"

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {name: getattr(self, name) for name in self.__slots__}


def resident_mb(status: Path = STATUS) -> float:
    """Resident memory of this process in MB; 0 where the system does not say."""
    if not status.exists():
        return 0.0
    row = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(row.split()[1]) / 1000


def play(
    target: Target,
    seed: int,
    seconds: float,
    rounds: int = 0,
    tell: Callable[[str], object] = print,
) -> Ran:
    """Play rounds of a target.

    Args:
        target: which.
        seed: of the first round.
        seconds: how long, where no number of rounds is given.
        rounds: how many; 0 for as many as there is time for.
        tell: told each finding.
    """
    ran = Ran(target.name, target.invariant, seed)
    begin, cpu = monotonic(), process_time()
    while ran.rounds < rounds or (not rounds and monotonic() < begin + seconds):
        number, at = seed + ran.rounds, monotonic()
        told = target.play(number)
        ran.rounds += 1
        ran.executions += told.executions
        for problem in told.problems[:5]:
            text = f"{target.name} --rounds 1 --seed {number}: {problem[:MOST_TOLD]}"
            ran.found.append(text)
            tell(text)
        now = monotonic()
        ran.course.append((round(now - begin, 2), round(resident_mb(), 1), round(now - at, 4)))
        if len(ran.course) >= 2 * MOST_POINTS:
            ran.course = [*_thinned(ran.course)]
    ran.cpu_s = round(process_time() - cpu, 2)
    return ran


def _thinned(course: list[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Half of the points: of two the later time, the larger memory, the longer round."""
    for (_, mb, took), (at, later_mb, later) in zip(course[::2], course[1::2], strict=False):
        yield at, max(mb, later_mb), max(took, later)


def as_json(seed: int, ran: list[Ran]) -> dict[str, Any]:
    """A run of targets, as reports read it."""
    return {"what": "fuzz", "facts": facts(), "seed": seed, "ran": [one.as_json() for one in ran]}


def facts() -> dict[str, str]:
    """What numbers mean nothing without."""
    return {
        "kubetrio": kubetrio.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "date": strftime("%Y-%m-%d"),
    }
