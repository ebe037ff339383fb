"""Whether a watcher saw each acknowledged write once, in order, and nothing else."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Write:
    """A write of the one writer, or an event of the watcher.

    Args:
        kind: ADDED, MODIFIED or DELETED.
        name: of the object.
        revision: resourceVersion; 0 when the answer did not tell.
        sure: whether it was acknowledged; without an answer it may have happened or not.
    """

    kind: str
    name: str
    revision: int = 0
    sure: bool = True

    def same(self, event: Write) -> bool:
        """Whether an event tells of this write."""
        return (
            (self.kind, self.name) == (event.kind, event.name)
            and (not self.revision or self.revision == event.revision)
        )  # fmt: skip


@dataclass(slots=True)
class Ledger:
    """The writes of one writer, who has one under way at a time, beside the events of one watcher.

    Attributes:
        problems: what is wrong, as text.
        matched: writes that were seen.
        revision: of the last event.
    """

    problems: list[str] = field(default_factory=list)
    matched: int = 0
    revision: int = 0
    _writes: deque[Write] = field(default_factory=deque)
    _events: deque[Write] = field(default_factory=deque)
    _late: list[Write] = field(default_factory=list)

    @property
    def unseen(self) -> int:
        """Acknowledged writes that the watcher has not seen yet."""
        return sum(write.sure for write in self._writes)

    def wrote(self, write: Write) -> None:
        """The writer had an answer, or gave up waiting for one."""
        self._writes.append(write)
        self._match()

    def saw(self, event: Write) -> None:
        """The watcher got an event."""
        if event.revision <= self.revision:
            self.problem(f"{_text(event)} came behind revision {self.revision}")
            return
        self.revision = event.revision
        self._events.append(event)
        self._match()

    def close(self) -> None:
        """Nothing more will come."""
        for write in self._writes:
            if write.sure:
                self.problem(f"{_text(write)} was acknowledged and not seen")
        for event in self._events:
            if not self._was_late(event):
                self.problem(f"{_text(event)} was seen and not written")
        self._writes.clear()
        self._events.clear()

    def _match(self) -> None:
        # An event may come before the answer of its write, so the first of each wait for another.
        while self._writes and self._events:
            write, event = self._writes[0], self._events[0]
            if write.same(event):
                self._writes.popleft()
                self._events.popleft()
                self.matched += 1
            elif not write.sure:
                self._late.append(self._writes.popleft())
            elif self._was_late(event):
                self._events.popleft()
            elif any(later.same(event) for later in self._writes):
                self.problem(f"{_text(write)} was skipped: {_text(event)} came next")
                self._writes.popleft()
            else:
                self.problem(f"{_text(event)} was seen where {_text(write)} is next")
                self._events.popleft()

    def _was_late(self, event: Write) -> bool:
        """Whether an event tells of a write without an answer, that was carried out later."""
        for write in self._late:
            if write.same(event):
                self._late.remove(write)
                return True
        return False

    def problem(self, text: str) -> None:
        """Note what is wrong; of many the first ones."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)


def _text(write: Write) -> str:
    return f"{write.kind} of {write.name} at {write.revision or '?'}"
