"""When a replica's table is copied to a file, and how a start goes on from it.

The table is copied whole, never event by event: when the server ends, and in between when a tenth
of the keys has another state than in the last copy.  Each part is written by a thread while the
event loop goes on.  Values of resources that are encrypted, and of others that the settings name,
are left out: a start reads them from etcd.

A copy proves nothing.  A start goes on from its revision when etcd still has the change that is
marked in it and all that came after; else it reads which revisions etcd's keys have, and takes from
the copy what they agree on (`listing`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from collections.abc import Mapping as Map
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.copyfile import (
    Copy,
    CopyWriter,
    Head,
    UnusableCopy,
    read_copy,
    remove_copy,
    unfinished,
)
from kubetrio.store.etcd.engine import EtcdStore
from kubetrio.store.etcd.errors import Compacted
from kubetrio.store.etcd.feed import Feed
from kubetrio.store.etcd.listing import read_keys
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.etcd.marks import AnotherHistory, UnknownHistory
from kubetrio.store.model import KeyValue, Revision
from kubetrio.store.table import BREATH

LOG = Log("kubetrio.store")
LOOK_S = 300.0
"""Between two looks at how much has changed."""
CHANGED_PART = 10
"""One key in so many has to have changed."""
LOOKED_AT_ONCE = 1024
"""Keys that are compared with the settings between two looks of the event loop at other tasks."""
KEYS_AT_ONCE = 256
BYTES_AT_ONCE = 1 << 18
"""Most of a copy that is written by one call of a thread."""
END_MAX_S = 10.0
"""How long the last copy may take when the server ends."""
PROGRESS_MAX_S = 30.0
"""How long a start waits for the next of the changes since the copy."""
FEW = 1000
"""Changes that are read one by one, however few keys there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySettings:
    """Where a table is kept.

    Args:
        path: of the file.
        identity: what values in the table depend on, by name.
        leaves_out: whether the value of a key may not be in a file.
    """

    path: Path
    identity: Map[str, str]
    leaves_out: Callable[[str], bool]


class TableKeeper:
    """Copies a table, and begins one.

    Args:
        settings: where.
        store: the replica.
        feed: of the replica.
        mapping: of keys; what its cipher covers is left out.
        cluster: number of etcd's cluster.
        env: threads.
    """

    def __init__(
        self,
        settings: CopySettings,
        store: EtcdStore,
        feed: Feed,
        mapping: Mapping,
        cluster: int,
        env: Env,
    ) -> None:
        self._settings = settings
        self._store = store
        self._feed = feed
        self._cipher = mapping.cipher
        self._name = mapping.keys.to_etcd
        self._writing = trio.Lock()
        self._identity = {**settings.identity, "cluster": f"{cluster:x}"}
        self._env = env
        self._copied = 0  # revision of the last copy, 0 for none
        self._generation: Hashable = self._cipher.generation  # when it was made

    def _leaves_out(self, key: str) -> bool:
        return self._settings.leaves_out(key) or self._cipher.covers(key)

    # ------------------------------------------------------------------ writing

    async def run(self) -> NoReturn:
        """Copy the table whenever enough has changed, until cancelled."""
        while True:
            await trio.sleep(LOOK_S)
            if self._cipher.generation != self._generation or await self._much_has_changed():
                await self.write()

    async def _much_has_changed(self) -> bool:
        if not self._copied:
            return True
        states = self._store.copied().states
        changed = 0
        for place, state in enumerate(states, 1):
            changed += state.revision > self._copied
            if place % BREATH == 0:
                await trio.lowlevel.checkpoint()
        return changed * CHANGED_PART > len(states)

    async def write_last(self) -> None:
        """Copy the table when the server ends, unless nothing has changed or it takes long."""
        if self._store.revision == self._copied and self._cipher.generation == self._generation:
            return
        with trio.CancelScope(deadline=trio.current_time() + END_MAX_S, shield=True):
            await self.write()

    async def write(self) -> None:
        """Copy the table as it is now; a copy that cannot be written leaves the last one."""
        async with self._writing:
            await self._write_table()

    async def _write_table(self) -> None:
        generation = self._cipher.generation
        table, mark = self._store.copied(), self._feed.mark
        left_out = sorted(table.unreadable)  # few; a hundred thousand would take 0.2 s to sort
        kept: list[KeyValue] = []
        for place, state in enumerate(table.states, 1):
            if state.key not in table.unreadable:
                if self._leaves_out(state.key):
                    left_out.append(state.key)
                else:
                    kept.append(state)
            if place % LOOKED_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        head = Head(self._identity, table.revision, len(kept) + len(left_out), mark)
        try:
            await self._write(head, kept, left_out)
        except OSError as error:
            LOG.warning("the table is not copied to the disk", reason=str(error))
            if generation != self._generation:  # the last one may have what is encrypted now
                await self._remove()
        else:
            self._copied, self._generation = table.revision, generation

    async def _write(self, head: Head, kept: list[KeyValue], left_out: list[str]) -> None:
        run = self._env.run_blocking
        writer = await run(CopyWriter, self._settings.path, head)
        try:
            part: list[KeyValue] = []
            size = 0
            for state in kept:
                part.append(state)
                size += len(state.value)
                if len(part) == KEYS_AT_ONCE or size >= BYTES_AT_ONCE:
                    await run(writer.add, part)
                    part, size = [], 0
            await run(writer.add, part)
            await run(writer.leave_out, left_out)
            await run(writer.finish)
        except BaseException:
            with suppress(OSError):
                writer.give_up()
            raise

    # ------------------------------------------------------------------ reading

    async def begin(self, client: Client) -> None:
        """Read the table, from the copy and etcd, or from etcd alone.

        Args:
            client: of etcd.

        Raises:
            EtcdError: etcd cannot be read.
        """
        copy = await self._read()
        # A copy of nothing has no mark, by which a restored etcd would be found.
        if copy is None or copy.head.mark is None or not await self._goes_on(client, copy):
            await self._feed.load()

    async def _read(self) -> Copy | None:
        path = self._settings.path
        try:
            # What a server that was killed has begun is of no use, and has values in plain text.
            await self._env.run_blocking(partial(unfinished(path).unlink, missing_ok=True))
        except OSError as error:
            self._stays(error)
        try:
            copy = await self._env.run_blocking(read_copy, path, self._identity)
        except UnusableCopy as error:
            self._anew(str(error))
            await self._remove()  # whether it has values that are encrypted now is not known
            return None
        if copy is None:
            return None
        secret = [state.key for state in copy.states if self._leaves_out(state.key)]
        if secret:  # encrypted since then
            LOG.info("a copy of the table on the disk has values that are encrypted now, and is "
                     "removed", values=len(secret))  # fmt: skip
            await self._remove()
            hidden = frozenset(secret)
            states = [state for state in copy.states if state.key not in hidden]
            return Copy(copy.head, states, [*copy.left_out, *secret])
        self._copied = copy.head.revision
        return copy

    async def _remove(self) -> None:
        try:
            await self._env.run_blocking(remove_copy, self._settings.path)
        except OSError as error:
            self._stays(error)

    def _stays(self, error: OSError) -> None:
        LOG.warning("a copy of the table that is not used cannot be removed: remove it by hand, it "
                    "may have values that are encrypted now", reason=str(error))  # fmt: skip

    def _anew(self, reason: str) -> None:
        LOG.info("the copy of the table cannot be used, and everything is read anew", reason=reason)

    async def _goes_on(self, client: Client, copy: Copy) -> bool:
        """Have the table go on from a copy; return whether it is complete.

        Where it is not, it has what a load compares with etcd, or nothing if the copy is of no use.

        Raises:
            EtcdError: etcd cannot be read.
        """
        head, store = copy.head, self._store
        try:
            newest = await store.newest()
        except StoreUnavailable:  # a full etcd takes no key that would show how far it is
            newest = 0
        if newest and newest < head.revision:
            self._anew(f"it is of revision {head.revision}, and etcd is at {newest}")
            return False
        if newest and newest - head.revision <= max(FEW, head.keys):
            try:
                await self._feed.resume(head.mark, head.revision)
                names = [self._name(key) for key in copy.left_out]
                kvs = await read_keys(client, names, head.revision)
            except AnotherHistory as error:
                self._anew(str(error))
                return False
            except (Compacted, UnknownHistory):
                pass
            else:
                await store.restore(copy.states, kvs, head.revision)
                LOG.info("the table goes on from its copy", revision=head.revision, newest=newest)
                return await self._caught_up(newest)
        LOG.info("the table takes what has not changed from its copy", revision=head.revision)
        await store.restore(copy.states, [], head.revision)
        return False

    async def _caught_up(self, newest: Revision) -> bool:
        """Follow etcd until a revision is told; return whether it was, before etcd told nothing."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._feed.run, name="first watch of etcd")
            while True:
                before = self._store.revision
                with trio.move_on_after(PROGRESS_MAX_S) as waiting:
                    await self._store.caught_up(newest)
                if not waiting.cancelled_caught or self._store.revision == before:
                    break
            nursery.cancel_scope.cancel()
        return not waiting.cancelled_caught
