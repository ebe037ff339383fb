"""Files that are read again when they change.

One task looks at all of them.  What a file says takes effect when it can be read; until then the
old content stays, and the log and a metric say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import trio

from kubetrio.env import Env
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log

log = Log("kubetrio.files")
INTERVAL_S = 5.0
"""How often files are looked at, seconds; kube-apiserver takes up to a minute."""

Seen = tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class _Watched:
    """Files that are read together."""

    name: str
    paths: tuple[Path, ...]
    load: Callable[[], None]
    seen: Seen
    digest: bytes


def _look(paths: Sequence[Path]) -> Seen:
    """What tells cheaply that a file may have changed; a missing file is all zeros."""
    found = []
    for path in paths:
        try:
            about = path.stat()
            found.append((about.st_mtime_ns, about.st_size, about.st_ino))
        except OSError:
            found.append((0, 0, 0))
    return tuple(found)


def _digest(paths: Sequence[Path]) -> bytes:
    found = sha256()
    for path in paths:
        try:
            found.update(sha256(path.read_bytes()).digest())
        except OSError as error:
            found.update(str(error.errno).encode())
    return found.digest()


def _state(paths: Sequence[Path]) -> tuple[Seen, bytes]:
    return _look(paths), _digest(paths)


class Reloader:
    """Watches files for one server.

    Args:
        env: looks at files in a thread.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self._watched: list[_Watched] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._some = trio.Event()

    def watch(self, name: str, paths: Sequence[Path], load: Callable[[], None]) -> None:
        """Have a function called whenever the content of a file changed.

        Args:
            name: what the log and the metric call them, such as the flag.
            paths: files that are read together.
            load: reads them and takes over what they say, at once; a ValueError or OSError keeps
                what was.
        """
        paths = tuple(paths)
        self._watched.append(_Watched(name, paths, load, *_state(paths)))
        self._some.set()

    async def run(self) -> NoReturn:
        """Look at the files until cancelled; without any, it waits for the first."""
        await self._some.wait()
        while True:
            await trio.sleep(INTERVAL_S)
            for watched in tuple(self._watched):
                await self._reconsider(watched)

    async def _reconsider(self, watched: _Watched) -> None:
        if await self._env.run_blocking(_look, watched.paths) == watched.seen:
            return
        watched.seen, digest = await self._env.run_blocking(_state, watched.paths)
        if digest == watched.digest:
            return
        watched.digest = digest
        files = [str(path) for path in watched.paths]
        try:
            watched.load()
        except (ValueError, OSError) as error:
            self._counts[watched.name, "failure"] += 1
            log.error(error, "a changed file is not used", file=watched.name, paths=files)
        else:
            self._counts[watched.name, "success"] += 1
            log.info("a changed file is used", file=watched.name, paths=files)

    def families(self) -> Iterable[prometheus.Metric]:
        """How often files were read again, as metrics."""
        family = prometheus.CounterMetricFamily(
            "kubetrio_file_reloads", "Changed files by what came of them.",
            labels=("file", "result"),
        )  # fmt: skip
        for labels, count in sorted(self._counts.items()):
            family.add_metric(labels, count)
        return (family,)
