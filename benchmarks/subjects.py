"""The servers being measured: kubetrio, started by us for each row, and any other one."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import load, populate, requests, server
from benchmarks.endpoint import Endpoint
from benchmarks.errors import Unavailable
from benchmarks.load import LoadSpec
from benchmarks.server import ServerProcess

API_FILL_LIMIT = 20_000  # more objects than these are written through the store
REMOTE_FILL_LIMIT = 200_000
NAMESPACE = "bench"
WARM_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers, with a namespace for one row.

    Args:
        endpoint: where.
        pids: its processes, empty when unknown.
        namespace: ours alone; holds the ConfigMaps asked for, numbered from 0.
        visitors: users without any permission, whose names are their tokens; may be empty.
    """

    endpoint: Endpoint
    pids: tuple[int, ...]
    namespace: str
    visitors: tuple[str, ...] = ()

    @property
    def collection(self) -> str:
        """Path of the namespace's ConfigMaps."""
        return requests.collection(self.namespace)

    def fill(self, first: int, end: int) -> None:
        """Create the objects numbered `first` to `end` - 1 through the API."""
        if end > first:
            load.run(
                LoadSpec(
                    endpoint=self.endpoint,
                    ops=(requests.post(self.endpoint, self.namespace, first),),
                    connections=16,
                    count=end - first,
                )
            )


Start = Callable[[], AbstractContextManager[ServerProcess]]


class Subject(Protocol):
    """A server to measure."""

    @property
    def label(self) -> str:
        """Its name in the table."""
        ...

    def running(
        self, *, objects: int = 0, flags: Sequence[str] = (), allowed: Sequence[str] = ()
    ) -> AbstractContextManager[Running]:
        """The server with an own namespace of `objects` ConfigMaps, for the length of a block.

        Args:
            objects: how many.
            flags: more flags for it.
            allowed: users who may do everything; `*` for all users.

        Raises:
            Unavailable: this server cannot be had that way.
        """
        ...

    def start_up(self) -> AbstractContextManager[ServerProcess]:
        """A start on an empty data directory.

        Raises:
            Unavailable: we do not start this server.
        """
        ...

    def restarts(
        self, prepare: Callable[[Running], None], flags: Sequence[str] = ()
    ) -> AbstractContextManager[Start]:
        """Starts on a data directory that has been prepared, one after the other.

        Args:
            prepare: writes what is to be there.
            flags: more flags for the server.

        Raises:
            Unavailable: we do not start this server.
        """
        ...


def _warm(data_dir: Path) -> None:
    """Have the system's page cache hold the files: rows are about the server, not the disk."""
    for path in data_dir.glob("*.db"):
        with path.open("rb", buffering=0) as file:
            while file.read(WARM_BYTES):
                pass


class Kubetrio:
    """The project's own server: a new process and a new data directory for each row.

    Args:
        folder: for data directories; its disk is what durable writes are measured on.
        flags: more flags for the server.
        prepared: where large data directories are looked for and left; None for `folder`.
        single_file: the executable that holds the server, None where there is none.
        etcd: URL of the etcd of rows that need one; empty for one of their own.
    """

    label = "kubetrio"

    def __init__(
        self,
        folder: Path,
        flags: Sequence[str] = (),
        prepared: Path | None = None,
        single_file: Path | None = None,
        etcd: str = "",
    ) -> None:
        self._folder = folder
        self._prepared = prepared or folder
        self._numbers = itertools.count()
        self.flags = tuple(flags)
        self.single_file = single_file
        self.etcd = etcd

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """A new directory for the length of a block."""
        made = self._folder / f"server-{next(self._numbers)}"
        made.mkdir()
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    @contextlib.contextmanager
    def start_up(self) -> Iterator[ServerProcess]:
        """A start on an empty data directory."""
        with self.folder() as folder:
            started = server.start(folder / "data", self.flags)
            try:
                yield started
            finally:
                started.process.stop()

    @contextlib.contextmanager
    def restarts(
        self, prepare: Callable[[Running], None], flags: Sequence[str] = ()
    ) -> Iterator[Start]:
        """See `Subject`."""
        with self.folder() as folder:

            @contextlib.contextmanager
            def start() -> Iterator[ServerProcess]:
                started = server.start(folder / "data", (*self.flags, *flags))
                try:
                    yield started
                finally:
                    started.process.stop()

            with start() as first:
                run = Running(
                    endpoint=first.endpoint, pids=(first.process.pid,), namespace=NAMESPACE
                )
                prepare(run)
            yield start

    @contextlib.contextmanager
    def running(
        self, *, objects: int = 0, flags: Sequence[str] = (), allowed: Sequence[str] = ()
    ) -> Iterator[Running]:
        """A server of its own; many objects are written before it starts, and kept for later."""
        kept = objects > API_FILL_LIMIT
        data_dir = (
            self._populated(objects)
            if kept
            else self._folder / f"server-{next(self._numbers)}" / "data"
        )
        started = server.start(data_dir, (*self.flags, *flags), allowed=allowed)
        try:
            run = Running(
                endpoint=started.endpoint,
                pids=(started.process.pid,),
                namespace=NAMESPACE,
                visitors=server.VISITORS,
            )
            if not kept:
                create_namespace(run)
                run.fill(0, objects)
            yield run
        finally:
            started.process.stop()
            if not kept:
                shutil.rmtree(data_dir.parent, ignore_errors=True)

    @contextlib.contextmanager
    def joined(self, namespace: str, flags: Sequence[str]) -> Iterator[Running]:
        """One more server of a store that is shared.

        Args:
            namespace: that the row has there.
            flags: that say where the store is.
        """
        with self.folder() as folder:
            started = server.start(folder / "data", (*self.flags, *flags))
            try:
                yield Running(
                    endpoint=started.endpoint, pids=(started.process.pid,), namespace=namespace
                )
            finally:
                started.process.stop()

    def _populated(self, objects: int) -> Path:
        """A data directory with that many objects, made once; rows only read it."""
        folder = self._prepared / f"populated-{objects}"
        data_dir = folder / "data"
        if not folder.exists():
            # Beside it, so that the rename at the end stays on one disk.
            making = self._prepared / f"making-{objects}"
            shutil.rmtree(making, ignore_errors=True)  # of a run that was interrupted
            started = server.start(making / "data", self.flags)
            try:
                run = Running(endpoint=started.endpoint, pids=(), namespace=NAMESPACE)
                create_namespace(run)
                run.fill(0, 1)
            finally:
                started.process.stop()
            populate.populate(making / "data", objects)
            making.rename(folder)
        _warm(data_dir)
        return data_dir


class Remote:
    """A server that runs already, for example kube-apiserver.

    Args:
        endpoint: where.
        pids: its processes when they are on this machine, for memory and CPU time.
    """

    label = "against"

    def __init__(self, endpoint: Endpoint, pids: Sequence[int] = ()) -> None:
        self._endpoint = endpoint
        self._pids = tuple(pids)
        self._numbers = itertools.count()

    def start_up(self) -> AbstractContextManager[ServerProcess]:
        """Not ours to start.

        Raises:
            Unavailable: always.
        """
        raise Unavailable("not started by the benchmark")

    def restarts(
        self, prepare: Callable[[Running], None], flags: Sequence[str] = ()
    ) -> AbstractContextManager[Start]:
        """Not ours to start.

        Raises:
            Unavailable: always.
        """
        del prepare, flags
        raise Unavailable("not started by the benchmark")

    @contextlib.contextmanager
    def running(
        self, *, objects: int = 0, flags: Sequence[str] = (), allowed: Sequence[str] = ()
    ) -> Iterator[Running]:
        """A namespace of its own, emptied and deleted afterwards."""
        if flags or allowed:
            raise Unavailable(f"needs a server started with {' '.join(flags) or 'other users'}")
        if objects > REMOTE_FILL_LIMIT:
            raise Unavailable(f"{objects:,} objects through the API take too long")
        run = Running(
            endpoint=self._endpoint,
            pids=self._pids,
            namespace=f"{NAMESPACE}-{os.getpid()}-{next(self._numbers)}",
        )
        create_namespace(run)
        try:
            run.fill(0, objects)
            yield run
        finally:
            # A server may give up on a large collection and have to be asked again.
            while (
                self._endpoint.call("DELETE", run.collection, accept=(200, 500, 504))["httpStatus"]
                != 200
            ):
                pass
            self._endpoint.call(
                "DELETE", f"/api/v1/namespaces/{run.namespace}", accept=(200, 202, 409)
            )


def create_namespace(run: Running) -> None:
    """Create the namespace of a row."""
    run.endpoint.call(
        "POST",
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": run.namespace}},
    )


def revision_of(run: Running) -> str:
    """The newest resourceVersion."""
    listed = run.endpoint.call("GET", f"{run.collection}?limit=1")
    return str(listed["metadata"]["resourceVersion"])
