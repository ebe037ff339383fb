"""Follows etcd: all that is there at one revision, and every change from then on.

One watch serves the whole prefix.  When it breaks it begins anew where it ended; where etcd has
compacted what comes next, everything is read again.  Between two attempts there is a pause that
grows and is not the same for any two servers.

An etcd that was restored from a snapshot has another history.  A member that lags shows old
revisions too, so a watch is believed when a linearizable read has shown that the history of this
server is still there: the newest change that was told, with the value that it had.  The watch
begins behind that change, so that it shows whether others followed which were not told.  Until
then nothing is told.  Where the history is another one, everything is read again, and the follower
hears that its revisions mean nothing any more.

Neither the number of the cluster nor the term of its leader would do: both are the same again in a
cluster that was restored with the same names and has elected as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Protocol

import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.errors import Compacted, EtcdError
from kubetrio.store.etcd.listing import Known, Listing, list_all, list_changes
from kubetrio.store.etcd.marks import AnotherHistory, Mark, UnknownHistory, compare
from kubetrio.store.etcd.requests import Event, Get
from kubetrio.store.etcd.watching import Watch, WatchSettings

LOG = Log("kubetrio.store")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


class Follower(Known, Protocol):
    """What is told."""

    @property
    def revision(self) -> int:
        """Revision up to which everything was told."""
        ...

    async def replace(self, listing: Listing, *, rewound: bool) -> None:
        """Take everything that is there at a revision, in the place of what was there.

        Args:
            listing: what is there.
            rewound: whether it is of another history than what was told before.
        """
        ...

    async def learn(self, events: Sequence[Event]) -> None:
        """Take the changes of one revision or of several, complete ones, in order."""
        ...

    def progress(self, revision: int) -> None:
        """Take it that all changes up to a revision were told."""
        ...


class _ReadAgain(Exception):
    """Everything is to be read again, though etcd's history is the one that was told."""


class Feed:
    """The watch of one server.

    Args:
        client: of etcd.
        keys: first key, and the end of the range.
        follower: is told.
        env: randomness.

    Attributes:
        broken: how often the watch broke.
        reloads: how often everything was read again after the beginning.
        rewinds: how often that was because etcd had another history.
        behind: why nothing is told now, empty while the watch is open.
        mark: newest change that was told, None where there was none.
    """

    def __init__(
        self, client: Client, keys: tuple[bytes, bytes], follower: Follower, env: Env
    ) -> None:
        self._client = client
        self._keys = keys
        self._follower = follower
        self._env = env
        self._watch: Watch | None = None
        self._scope = trio.CancelScope()
        self._again = False
        self._followed = trio.Event()
        self.broken = 0
        self.reloads = 0
        self.rewinds = 0
        self.behind = ""
        self.mark: Mark | None = None

    async def load(self, *, rewound: bool = False) -> None:
        """Read everything at one revision, or what differs from what the follower has.

        Args:
            rewound: whether it is of another history, so that nothing that the follower has counts.

        Raises:
            EtcdError: etcd fails.
        """
        told = self._follower.revision
        listing = None
        if told and not rewound:
            listing = await list_changes(self._client, self._keys, self._follower)
            if listing is None:
                LOG.info("etcd has nothing that this server has seen, and is read anew")
        if listing is None:
            listing = await list_all(self._client, self._keys)
        await self._follower.replace(listing, rewound=rewound or listing.revision < told)
        self.mark = Mark.of_state(listing.newest, listing.revision)

    async def resume(self, mark: Mark | None, told: int) -> None:
        """Go on after what another feed has told, whose newest change is marked.

        The follower has to have what that feed told before `run` begins.

        Args:
            mark: the change, None where there was none.
            told: revision up to which everything was told.

        Raises:
            AnotherHistory: it is no part of etcd's history.
            UnknownHistory: that cannot be told.
            Compacted: etcd has compacted what comes next.
            EtcdError: etcd fails.
        """
        await compare(self._client, mark, told)
        after = told if mark is None else mark.after
        await self._client.range(Get(key=self._keys[0], revision=after))
        self.mark = mark

    def request_progress(self) -> None:
        """Have etcd say how far it is, if the watch is open."""
        if self._watch is not None:
            self._watch.request_progress()

    def doubt(self, reason: str) -> None:
        """Tell nothing more until etcd has shown that it has the history that was told."""
        if not self.behind:
            self._stop(reason)
            self._scope.cancel()

    def read_again(self) -> None:
        """Have everything read again, because values are read otherwise now; watches end."""
        self._again = True
        self._scope.cancel()

    async def current(self) -> None:
        """Wait until etcd is followed."""
        while self.behind:
            await self._followed.wait()

    def _stop(self, reason: str) -> None:
        if not self.behind:
            self._followed = trio.Event()
        self.behind = reason

    async def run(self) -> NoReturn:
        """Follow until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            begun = trio.current_time()
            try:
                with trio.CancelScope() as self._scope:
                    await self._follow()
            except AnotherHistory as error:
                LOG.error(error, "etcd has another history, as of a snapshot that was restored: "
                          "everything is read again, and watches end")  # fmt: skip
                self.rewinds += await self._reload(str(error), rewound=True)
            except UnknownHistory as error:
                LOG.warning("etcd has compacted what was seen last: everything is read again, and "
                            "watches end", revision=self._follower.revision)  # fmt: skip
                await self._reload(str(error), rewound=True)
            except Compacted as error:
                LOG.warning("etcd has compacted what comes next: everything is read again",
                            revision=self._follower.revision)  # fmt: skip
                await self._reload(str(error), rewound=False)
            except _ReadAgain:
                LOG.info("values can be decrypted again: everything is read again, and watches end")
                self._again = not await self._reload("values are decrypted", rewound=True)
            except EtcdError as error:
                self._stop(str(error))
                LOG.warning("the watch of etcd is broken, and begins anew", reason=str(error))
            finally:
                self._watch = None
            self.broken += 1
            if trio.current_time() - begun > LONGEST_PAUSE_S:
                pause_s = FIRST_PAUSE_S
            await trio.sleep(pause_s * self._env.rng.uniform(0.5, 1.5))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _reload(self, reason: str, *, rewound: bool) -> bool:
        """Read everything again; return whether that was possible."""
        self._stop(reason)
        try:
            await self.load(rewound=rewound)
        except EtcdError as failure:
            LOG.warning("etcd cannot be read again yet", reason=str(failure))
            return False
        self.reloads += 1
        return True

    async def _follow(self) -> NoReturn:
        """Tell of each change until the watch breaks.

        Raises:
            AnotherHistory: what was told is no part of etcd's history.
            UnknownHistory: that cannot be told.
            _ReadAgain: values are read otherwise than before.
            EtcdError: the watch ended.
        """
        begin, end = self._keys
        follower = self._follower
        told = follower.revision
        after = told if self.mark is None else self.mark.after
        settings = WatchSettings(key=begin, end=end, start_revision=after + 1)
        async with self._client.watch(settings) as watch:
            await compare(self._client, self.mark, told)
            if self._again:
                raise _ReadAgain
            self._watch, self.behind = watch, ""
            self._followed.set()
            # What comes with one revision is told together, though messages may split it.
            pending: list[Event] = []
            while True:
                batch = await watch.receive()
                pending += batch.events
                if pending and pending[0].kv.revision <= told:
                    revision = pending[0].kv.revision
                    raise AnotherHistory(
                        f"etcd tells of a change at revision {revision}, which this server has "
                        f"not seen, though it has seen {told}"
                    )
                if batch.progress:
                    await self._tell(pending)
                    follower.progress(batch.revision)
                elif not batch.more:
                    await self._tell(pending)

    async def _tell(self, pending: list[Event]) -> None:
        if pending:
            await self._follower.learn(tuple(pending))
            self.mark = Mark.of_change(pending[-1])
            pending.clear()
