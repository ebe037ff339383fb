"""Histories of concurrent requests about a few objects, and what must hold of them.

A server orders all writes by resourceVersion, so a history is linearizable when the order by
version agrees with real time: what ended before something else began has the older version.  That
is checked in one pass, without a search.  The rules, each of which `problems` tests:

- an answered write has a version of its own, and replaces the version that it named;
- a read, a list and a write see no version older than any that was answered before they began;
- what is read of a version is what was written there;
- a list is the state of one version: of each object the newest that is not newer than the list;
- a watch tells each version of its collection after its beginning once, in order, up to its end;
- no answered write is missing from the last state and its history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GONE = "(deleted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write.

    Args:
        begun, ended: when, by one clock; `ended` is infinity for one without an answer.
        key: of the object.
        value: what is written, different each time; `GONE` for a deletion.
        named: version that it replaces; 0 for a creation, None for whichever there is.
        version: of the answer; 0 without one.
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
        answered = sum(1 for write in self.writes if write.version)
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
    found += _replaced(history.writes, versions)
    found += _real_time(history)
    found += _listed(history.lists, versions)
    for watched in history.watches:
        found += _watched(watched, versions)
    return found


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


def _real_time(history: History) -> Iterator[str]:
    """Versions that were answered, against versions seen by what began later."""
    answered = [(one.ended, one.version) for one in history.writes if one.version]
    answered += [(one.ended, one.version) for one in history.reads]
    answered += [(one.ended, one.version) for one in history.lists]
    answered.sort()
    # The newest version of the whole store that was answered by then; a read of one object knows
    # only its own version, so reads are compared object by object below.
    ends = [end for end, _ in answered]
    newest: list[int] = []
    for _, version in answered:
        newest.append(max(version, newest[-1]) if newest else version)

    def known(begun: float) -> int:
        at = bisect_right(ends, begun)
        return newest[at - 1] if at else 0

    for listed in history.lists:
        if listed.version < known(listed.begun):
            yield f"a list of version {listed.version} began behind {known(listed.begun)}"
    for write in history.writes:
        if write.version and write.version <= known(write.begun):
            yield f"{write} began behind {known(write.begun)}"
    yield from _objects_in_time(history)


def _objects_in_time(history: History) -> Iterator[str]:
    told: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for write in history.writes:
        if write.version:
            told[write.key].append((write.ended, write.version))
    for read in history.reads:
        told[read.key].append((read.ended, read.version))
    for key, entries in told.items():
        entries.sort()
        ends, newest = [end for end, _ in entries], list[int]()
        for _, version in entries:
            newest.append(max(version, newest[-1]) if newest else version)
        deletions = [one for one in history.writes if one.key == key and one.value == GONE]
        for read in history.reads:
            if read.key != key:
                continue
            at = bisect_right(ends, read.begun)
            must = newest[at - 1] if at else 0
            stale = read.version < must if read.version else not _gone(read, must, deletions)
            if stale:
                yield f"{read} began behind version {must}"


def _gone(read: Read, must: int, deletions: Iterable[Write]) -> bool:
    """Whether an object may be missing that was known to have come to a version.

    What is not there has no version: that one is its deletion, or another deletion came behind it.
    """
    return not must or any(
        one.version == must or (one.begun < read.ended and not 0 < one.version < must)
        for one in deletions
    )


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
