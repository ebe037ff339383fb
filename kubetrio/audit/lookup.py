"""Who made a write, as the audit log tells: for people who look into history.

Lines of the JSON format are read from the end of the file, as many bytes as are asked for.  A write
is found by what it was about, its verb, and its resourceVersion where the level of the event has
the answer, else by the time between arrival and answer.  What the server writes of its own accord,
such as controllers, is not in the log.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

MOST_BYTES = 16 << 20
SLACKS_MS = 20, 1000
"""Revisions are dated when their transaction begins: most within the time of their request; at the
most a second beside it, since the difference of two clocks is noted to a second."""
VERBS = {
    "create": frozenset({"create", "update", "patch"}),  # PUT and apply create too
    "update": frozenset({"update", "patch", "delete", "deletecollection", "create"}),
    "delete": frozenset({"delete", "deletecollection", "update", "patch"}),
}
"""Verbs of requests by what they make of an object: a deletion may be that of the last finalizer,
and may first be an update that notes a time."""
LIKELY = {
    "create": frozenset({"create"}),
    "update": frozenset({"update", "patch"}),
    "delete": frozenset({"delete", "deletecollection"}),
}
"""Verbs that count first where several writes are possible."""
MANY = "deletecollection"


class Wrote(NamedTuple):
    """A write that succeeded.

    Args:
        user: who made it.
        verb: of the request.
        group: API group.
        resource: plural name.
        namespace: of the object.
        name: of the object; empty where the request did not name it.
        received_ms: when it came, by the wall clock.
        answered_ms: when it was answered.
        revision: resourceVersion of the answer; 0 where the event does not have it.
    """

    user: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    received_ms: int
    answered_ms: int
    revision: int


class Object(NamedTuple):
    """What a write is about.

    Args:
        group: API group.
        resource: plural name.
        namespace: of the object.
        name: of the object.
    """

    group: str
    resource: str
    namespace: str
    name: str


class Change(NamedTuple):
    """A revision of an object.

    Args:
        revision: its number.
        verb: ``create``, ``update`` or ``delete``.
        at_ms: when it was made, by the wall clock.
    """

    revision: int
    verb: str
    at_ms: int


class Writers:
    """The writes of an audit log.

    Args:
        writes: in any order.
    """

    def __init__(self, writes: Iterable[Wrote]) -> None:
        self._by_name: dict[tuple[str, str, str], list[Wrote]] = {}
        for wrote in writes:
            key = wrote.group, wrote.resource, wrote.name
            self._by_name.setdefault(key, []).append(wrote)

    def users(self, about: Object, revisions: Sequence[Change]) -> dict[int, str]:
        """Return the users of those revisions whose writes the log tells.

        A write makes one revision of an object, so each counts once: for the revision that its
        answer has, else for one within its time, else for one that is near.  Where writes of
        several users are possible, none is named.

        Args:
            about: the object.
            revisions: those of it that are asked for, oldest first.
        """
        kind = about.group, about.resource
        named = self._by_name.get((*kind, about.name), ())
        left = [
            wrote
            for wrote in chain(named, self._by_name.get((*kind, ""), ()))
            if wrote.namespace in ("", about.namespace)
        ]
        users: dict[int, str] = {}
        ways: list[Callable[[Wrote, Change], bool]] = [_answered]
        ways += [partial(_within, slack_ms) for slack_ms in SLACKS_MS]
        for matches in ways:
            for change in revisions:
                if change.revision in users:
                    continue
                fitting = [wrote for wrote in left if matches(wrote, change)]
                likely = [one for one in fitting if one.verb in LIKELY[change.verb]] or fitting
                if len({wrote.user for wrote in likely}) == 1:
                    users[change.revision] = likely[0].user
                    if likely[0].verb != MANY:
                        left.remove(likely[0])
        return users


def _answered(wrote: Wrote, change: Change) -> bool:
    """Whether the answer to a write has a revision."""
    return wrote.revision == change.revision and wrote.verb in VERBS[change.verb]


def _within(slack_ms: int, wrote: Wrote, change: Change) -> bool:
    """Whether a write, whose answer names no other revision, was under way at a revision's time."""
    if wrote.verb not in VERBS[change.verb]:
        return False
    if wrote.revision and wrote.verb != MANY and change.verb != "delete":
        return False
    return wrote.received_ms - slack_ms <= change.at_ms <= wrote.answered_ms + slack_ms


def read_writers(path: Path, most_bytes: int = MOST_BYTES) -> Writers:
    """Read the writes at the end of an audit log.  Blocking.

    Args:
        path: the file of ``--audit-log-path``.
        most_bytes: of it.

    Raises:
        OSError: it cannot be read.
    """
    return Writers(_writes(_lines(path, most_bytes)))


def _lines(path: Path, most_bytes: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        start = max(0, end - most_bytes)
        file.seek(start)
        if start:
            file.readline()  # a part of one
        yield from file


def _writes(lines: Iterable[bytes]) -> Iterator[Wrote]:
    for line in lines:
        try:
            event = orjson.loads(line)
            wrote = _write_of(event)
        except (ValueError, TypeError, AttributeError, KeyError):
            continue  # of another format, or the half of a line
        if wrote is not None:
            yield wrote


def _write_of(event: dict[str, Any]) -> Wrote | None:
    if event.get("stage") != "ResponseComplete" or "objectRef" not in event:
        return None
    if event["verb"] not in {*VERBS["update"]} or event["responseStatus"]["code"] >= 300:
        return None
    about = event["objectRef"]
    if about.get("subresource") not in (None, "", "status", "scale"):
        return None
    made = (event.get("responseObject") or {}).get("metadata") or {}
    user = event.get("impersonatedUser") or event["user"]
    group, resource = str(about.get("apiGroup") or ""), str(about["resource"])
    # A request for a Namespace is said to be in it, though the object is in none.
    inside = "" if (group, resource) == ("", "namespaces") else str(about.get("namespace") or "")
    return Wrote(
        user=str(user["username"]),
        verb=str(event["verb"]),
        group=group,
        resource=resource,
        namespace=inside,
        name=str(about.get("name") or made.get("name") or ""),
        received_ms=_ms(event["requestReceivedTimestamp"]),
        answered_ms=_ms(event["stageTimestamp"]),
        revision=int(made.get("resourceVersion") or 0),
    )


def _ms(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp() * 1000)
