"""Rows about the single executable: its size, and starts with and without unpacking."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import server
from benchmarks.errors import Unavailable
from benchmarks.rows import BenchmarkRow, Lab, Sample, Target
from benchmarks.subjects import Kubetrio, Subject

LATER = 3


def _given(subject: Subject) -> tuple[Kubetrio, Path]:
    """The server that there is an executable of, and where it is.

    Raises:
        Unavailable: there is none.
    """
    if not isinstance(subject, Kubetrio):
        raise Unavailable("is no single file")
    if subject.single_file is None:
        raise Unavailable("needs --single-file or KUBETRIO_SINGLE_FILE")
    return subject, subject.single_file


@contextlib.contextmanager
def _size(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    _, file = _given(subject)
    yield lambda: Sample(value=file.stat().st_size / 1e6)


@contextlib.contextmanager
def _start(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    kubetrio, file = _given(subject)

    def ready_s(cache: Path) -> float:
        """A start on an empty data directory, with no variable of ours."""
        environ = {"KUBETRIO_CACHE": str(cache)}
        with kubetrio.folder() as folder:
            started = server.start(
                folder / "data", kubetrio.flags, command=(str(file), "serve"), environ=environ
            )
            started.process.stop()
            return started.ready_s

    def sample() -> Sample:
        with kubetrio.folder() as folder:
            cache = folder / "cache"
            first = ready_s(cache)
            later = [ready_s(cache) for _ in range(LATER)]
            files = (path for path in cache.rglob("*") if path.is_file() and not path.is_symlink())
            unpacked = sum(path.stat().st_size for path in files) / 1e6
        return Sample(
            value=first,
            note=f"unpacks {unpacked:.1f} MB; later starts {statistics.median(later):.2f} s",
        )

    yield sample


ROWS = (
    BenchmarkRow(
        name="single-file-size",
        title="size of the single executable",
        unit="MB",
        open=_size,
        most_rounds=1,
    ),
    BenchmarkRow(
        name="single-file-start",
        title="first start of the single executable, which unpacks, to ready",
        unit="s",
        open=_start,
        target=Target("value", "<", 1.5),
    ),
)
