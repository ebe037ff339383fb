"""Histories of concurrent requests about a few objects, and what must hold of them.

A server orders all writes by resourceVersion, so a history is linearizable when the order by
version agrees with real time: what ended before something else began has the older version.  That
is checked in one pass, without a search.  The rules, each of which `problems` tests:

- an answered write has a version of its own, and replaces the version that it named;
- an answered deletion is told by a watch, as one of the version that it named;
- a read, a list and a write see no version older than any that was answered before they began,
  of whichever object: the store has one order; what is missing was deleted at a version that is
  not older, by a deletion that had begun;
- what is read of a version is what was written there;
- a list is the state of one version: of each object the newest that is not newer than the list;
- a watch tells each version of its collection after its beginning once, in order, up to its end;
- no answered write is missing from the last state and its history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

GONE = "(deleted)"
INFINITE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write.

    Args:
        begun, ended: when, by one clock; `ended` is infinity for one without an answer.
        key: of the object.
        value: what is written, different each time; `GONE` for a deletion.
        named: version that it replaces; 0 for a creation, None for whichever there is.
        version: of the answer; 0 without one, and for a deletion, whose answer has none.
    """

    begun: float
    ended: float
    key: str
    value: str
    named: int | None
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An answered read of one object; version 0 and `GONE` for one that is not there."""

    begun: float
    ended: float
    key: str
    value: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An answered list of all objects: its version, and of each object value and version."""

    begun: float
    ended: float
    version: int
    items: Mapping[str, tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A watch: after which version it begins, its events in order, and up to which it came.

    Args:
        after: version that it names.
        events: key, value (`GONE` of a deletion) and version of each.
        until: the last version that it is known to have come to.
    """

    after: int
    events: Sequence[tuple[str, str, int]]
    until: int


@dataclass(slots=True)
class History:
    """What was asked and answered."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    lists: list[Listed] = field(default_factory=list)
    watches: list[Watched] = field(default_factory=list)

    def operations(self) -> int:
        """How many requests it has, without those that had no answer."""
        answered = sum(1 for write in self.writes if write.version or write.ended < INFINITE)
        return answered + len(self.reads) + len(self.lists) + len(self.watches)


class _Versions:
    """Versions of all objects, as the clients that saw them tell."""

    def __init__(self, history: History) -> None:
        self.values: dict[int, tuple[str, str]] = {}
        self.problems: list[str] = []
        for write in history.writes:
            if write.version:
                self._add(write.version, write.key, write.value)
        for read in history.reads:
            if read.version:
                self._add(read.version, read.key, read.value)
        for listed in history.lists:
            for key, (value, version) in listed.items.items():
                self._add(version, key, value)
        for watched in history.watches:
            for key, value, version in watched.events:
                self._add(version, key, value)
        self.of_key: dict[str, list[int]] = defaultdict(list)
        for version in sorted(self.values):
            self.of_key[self.values[version][0]].append(version)

    def _add(self, version: int, key: str, value: str) -> None:
        known = self.values.setdefault(version, (key, value))
        if known != (key, value):
            self.problems.append(f"version {version} is {known} and {(key, value)}")

    def newest(self, key: str, version: int) -> int:
        """The newest version of an object up to a version; 0 for none."""
        versions = self.of_key.get(key, [])
        at = bisect_right(versions, version)
        return versions[at - 1] if at else 0

    def gone_from(self, key: str, version: int) -> int | None:
        """The first version, from one of an object on, at which it is missing; None for none."""
        if not version:
            return 0
        versions = self.of_key[key]
        for one in versions[bisect_right(versions, version - 1) :]:
            if self.values[one][1] == GONE:
                return one
        return None

    def state(self, key: str, version: int) -> tuple[str, int]:
        """Value and version of an object at a version; `GONE` and 0 where it is not there."""
        newest = self.newest(key, version)
        value = self.values[newest][1] if newest else GONE
        return (GONE, 0) if value == GONE else (value, newest)


def problems(history: History) -> list[str]:
    """What does not hold of a history; empty for one that is linearizable.

    Args:
        history: the last state must be among its lists, and all versions in one of its watches.
    """
    versions = _Versions(history)
    found = versions.problems
    writes = [*_with_versions(history.writes, versions, found)]
    found += _replaced(writes, versions)
    found += _RealTime(history, writes, versions).problems()
    found += _listed(history.lists, versions)
    for watched in history.watches:
        found += _watched(watched, versions)
    return found


def _with_versions(
    writes: Iterable[Write], versions: _Versions, found: list[str]
) -> Iterator[Write]:
    """Writes with the versions that watches tell of those whose answers have none.

    Args:
        writes: the writes.
        versions: of all objects.
        found: problems are added.
    """
    by_value = {value: version for version, (_, value) in versions.values.items() if value != GONE}
    # A deletion is known by the version that it named, which is there until then.
    deletions = {
        (key, versions.newest(key, version - 1)): version
        for version, (key, value) in versions.values.items()
        if value == GONE
    }
    undecided: list[Write] = []
    for write in writes:
        if write.version:
            yield write
        elif write.ended == INFINITE:
            undecided.append(write)
        elif version := deletions.pop((write.key, write.named or 0), 0):
            yield replace(write, version=version)
        else:
            found.append(f"{write} was answered, and no watch tells of it")
    for write in undecided:
        told = deletions if write.value == GONE else by_value
        name: Any = (write.key, write.named or 0) if write.value == GONE else write.value
        yield replace(write, version=told.pop(name, 0))


def _replaced(writes: Iterable[Write], versions: _Versions) -> Iterator[str]:
    seen: dict[int, Write] = {}
    for write in writes:
        if not write.version:
            continue
        if write.version in seen:
            yield f"two writes have version {write.version}: {seen[write.version]} and {write}"
        seen[write.version] = write
        if write.named is None:
            continue
        value, before = versions.state(write.key, write.version - 1)
        if before != write.named:
            yield f"{write} replaced version {before} ({value})"


class _RealTime:
    """Versions that were answered, against versions seen by what began later.

    Args:
        history: reads and lists.
        writes: with their versions.
        versions: of all objects.
    """

    def __init__(self, history: History, writes: Sequence[Write], versions: _Versions) -> None:
        self._versions = versions
        self._begun = {write.version: write.begun for write in writes if write.version}
        seen: list[Write | Read | Listed] = [write for write in writes if write.version]
        seen += [*history.reads, *history.lists]
        self._moments: list[tuple[float, int, Write | Read | Listed]] = []
        for one in seen:
            self._moments.append((one.begun, 1, one))
            self._moments.append((one.ended, 0, one))
        # What ended at a moment was known to what began then.
        self._moments.sort(key=lambda moment: moment[:2])

    def problems(self) -> Iterator[str]:
        """What began with less than was known."""
        known = 0
        least: dict[int, int] = {}  # version that one has seen at least, while it is under way
        for _, begins, one in self._moments:
            if begins or id(one) not in least:  # one that took no time ends first
                if id(one) in least:
                    continue
                least[id(one)], problem = self._seen(one, known)
                if problem:
                    yield problem
            if not begins:
                known = max(known, least[id(one)])

    def _seen(self, one: Write | Read | Listed, known: int) -> tuple[int, str]:
        """The oldest version that one can have seen, and what is wrong with it or nothing.

        Args:
            one: what was answered.
            known: newest version that was answered when it began.
        """
        if isinstance(one, Write):
            wrong = one.version <= known
        elif isinstance(one, Listed):
            wrong = one.version < known
        else:
            return self._read(one, self._versions.newest(one.key, known))
        return one.version, f"{one} began behind {known}" if wrong else ""

    def _read(self, read: Read, must: int) -> tuple[int, str]:
        stale = f"{read} began behind version {must}"
        if read.version:
            return read.version, stale if read.version < must else ""
        gone = self._versions.gone_from(read.key, must)
        if gone is None or self._begun.get(gone, 0.0) >= read.ended:
            return must, stale
        return gone, ""


def _listed(lists: Iterable[Listed], versions: _Versions) -> Iterator[str]:
    for listed in lists:
        for key in {*versions.of_key, *listed.items}:
            state = versions.state(key, listed.version)
            there = listed.items.get(key, (GONE, 0))
            if state != there:
                yield f"a list of version {listed.version} has {there} for {key}, which is {state}"


def _watched(watched: Watched, versions: _Versions) -> Iterator[str]:
    told = [version for _, _, version in watched.events]
    for one, two in pairwise(told):
        if two <= one:
            yield f"a watch after {watched.after} told {two} behind {one}"
    must = {one for one in versions.values if watched.after < one <= watched.until}
    if missing := sorted(must - set(told)):
        yield f"a watch after {watched.after} until {watched.until} skipped {missing[:5]}"
    if early := [one for one in told if one <= watched.after]:
        yield f"a watch after {watched.after} told {early[:5]}"
