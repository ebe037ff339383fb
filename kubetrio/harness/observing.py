"""A script replayed, with all that was written to the store and where the store was at each step.

Commits are noted as the store tells of them, so that compaction takes none away, and no task waits
for it: the order of Trio's tasks, and with it every answer, stays that of a replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubetrio.harness.inprocess import playing
from kubetrio.harness.opening import Harness, run
from kubetrio.harness.script import Restart, Script, ScriptError
from kubetrio.harness.session import Session
from kubetrio.store.model import Event, KeyValue, Range, Revision
from kubetrio.store.past import past_of

MOST_BYTES = 512 << 20
"""Values of commits that are kept."""
PIECE_BYTES = 4 << 20
EVERYTHING = Range.prefix("/")


class Moment(NamedTuple):
    """Where a server was.

    Args:
        revision: its newest.
        at_ms: milliseconds of its wall clock.
    """

    revision: Revision
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A replay.

    Args:
        script: the steps with what is answered now.
        start: before the first step.
        moments: after each step.
        states: all keys at `floor`.
        floor: newest revision before `events`.
        events: what was written after it, oldest first, and when in milliseconds.
    """

    script: Script
    start: Moment
    moments: Sequence[Moment]
    states: Sequence[KeyValue]
    floor: Revision
    events: Sequence[tuple[Event, int]]

    @property
    def end(self) -> Revision:
        """The newest revision of all."""
        return self.events[-1][0].revision if self.events else self.floor


class _Commits:
    """What the store of a harness is told to keep.

    Args:
        server: the harness.
    """

    def __init__(self, server: Harness) -> None:
        self._server = server
        self._newest: Revision = 0
        self._bytes = 0
        self.states: Sequence[KeyValue] = ()
        self.floor: Revision = 0
        self.events: list[tuple[Event, int]] = []

    async def begin(self) -> None:
        """Note what has been written, and all that will be."""
        store = self._server.api.storage.store
        self.floor = self._newest = store.compacted
        if self.floor:
            self.states = (await store.range(EVERYTHING, at=self.floor)).items
        await self.listen()

    async def listen(self) -> None:
        """Note what was written meanwhile, and all that will be written to the present server."""
        store = self._server.api.storage.store
        past = past_of(store)
        while self._newest < store.revision:
            events, self._newest = await store.events(after=self._newest, max_bytes=PIECE_BYTES)
            revisions = [event.revision for event in events]
            dates = {} if past is None else await past.dates(revisions)
            for event in events:
                self._keep(event, dates.get(event.revision, 0))
        store.on_commit(self._note)

    def _note(self, events: Sequence[Event]) -> None:
        now = self._now()
        for event in events:
            if event.revision > self._newest:
                self._newest = event.revision
                self._keep(event, now)

    def _keep(self, event: Event, at_ms: int) -> None:
        self._bytes += len(event.value)
        if self._bytes <= MOST_BYTES:
            self.events.append((event, at_ms))

    def moment(self) -> Moment:
        """Where the server is.

        Raises:
            ScriptError: more was written than is kept.
        """
        if self._bytes > MOST_BYTES:
            raise ScriptError(f"it writes more than {MOST_BYTES >> 20} MiB, which is not kept")
        return Moment(self._newest, self._now())

    def _now(self) -> int:
        return int(self._server.env.now() * 1000)


async def observe(server: Harness, script: Script) -> Observed:
    """Do the steps of a script on a new harness, and note what is written.

    Args:
        server: made as the script says.
        script: which; answers that it has are not looked at.

    Raises:
        ScriptError: more is written than is kept.
    """
    commits = _Commits(server)
    await commits.begin()
    start, moments = commits.moment(), list[Moment]()
    async with playing(server) as player:
        session = Session(player, script.setup)
        for step in script.steps:
            await session.do(step)
            if isinstance(step, Restart):
                await commits.listen()
            moments.append(commits.moment())
        again = await session.finished()
    if moments:
        moments[-1] = commits.moment()
    return Observed(
        script=again,
        start=start,
        moments=tuple(moments),
        states=commits.states,
        floor=commits.floor,
        events=tuple(commits.events),
    )


def observed(script: Script) -> Observed:
    """Replay a script on a new server in a run of its own, on a mock clock, and note its writes.

    Args:
        script: which.

    Raises:
        ScriptError: more is written than is kept.
        SetupError: a flag of its setup cannot be used.
        StartError: a file that a flag names cannot be used.
    """

    async def main(server: Harness) -> Observed:
        return await observe(server, script)

    return run(main, script.setup)
