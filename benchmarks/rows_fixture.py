"""Rows about the fixtures of the pytest plugin: the server's start and what precedes each test."""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
from collections.abc import Callable, Iterator

from benchmarks import fixtures
from benchmarks.errors import Unavailable
from benchmarks.fixtures import OBJECTS, FixtureResult, FixtureSpec
from benchmarks.rows import BenchmarkRow, Lab, Sample, Target
from benchmarks.subjects import Kubetrio, Subject

RESETS = 50


def _session(subject: Subject, resets: int = 0) -> FixtureResult:
    """A session of pytest.

    Raises:
        Unavailable: there is no plugin of that server, or no pytest.
    """
    if not isinstance(subject, Kubetrio):
        raise Unavailable("has no fixtures")
    if importlib.util.find_spec("pytest") is None:
        raise Unavailable("needs pytest")
    with subject.folder() as folder:
        return fixtures.run(FixtureSpec(folder=str(folder), flags=subject.flags, resets=resets))


@contextlib.contextmanager
def _start(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    _session(subject)  # the first start writes bytecode files

    def sample() -> Sample:
        found = _session(subject)
        return Sample(
            value=found.start_s, note=f"then the first /readyz within {found.readyz_s * 1e3:.0f} ms"
        )

    yield sample


@contextlib.contextmanager
def _reset(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab

    def sample() -> Sample:
        taken = [seconds * 1e3 for seconds in _session(subject, RESETS).resets_s]
        return Sample(
            value=statistics.median(taken), note=f"the longest of {RESETS} {max(taken):.1f} ms"
        )

    yield sample


ROWS = (
    BenchmarkRow(
        name="fixture-start",
        title="set-up of the pytest fixture of the session, to a ready server",
        unit="s",
        open=_start,
        target=Target("value", "<", 0.7),
    ),
    BenchmarkRow(
        name="fixture-reset",
        title=f"reset before a test, behind one that made a namespace with {OBJECTS} objects",
        unit="ms",
        open=_reset,
        target=Target("value", "<", 5),
    ),
)
