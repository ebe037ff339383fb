"""Who made a write, as the audit log tells: for people who look into history.

Lines of the JSON format are read from the end of the file, as many bytes as are asked for.  A write
is found by what it was about, its verb, and its resourceVersion where the level of the event has
the answer, else by the time between arrival and answer.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

MOST_BYTES = 16 << 20
SLACK_MS = 1000
"""Revisions are dated when their transaction begins, by a clock that is noted to a second."""
VERBS = {
    "create": frozenset({"create", "update", "patch"}),  # PUT and apply create too
    "update": frozenset({"update", "patch", "delete", "deletecollection", "create"}),
    "delete": frozenset({"delete", "deletecollection", "update", "patch"}),
}
"""Verbs of requests by what they make of an object: a deletion may be that of the last finalizer,
and may first be an update that notes a time."""
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

    def who(self, about: Object, verb: str, revision: int, at_ms: int) -> str:
        """Return the user who made a revision; nothing where the log does not tell.

        Args:
            about: the object.
            verb: ``create``, ``update`` or ``delete``.
            revision: the revision.
            at_ms: when it was made, by the wall clock.
        """
        users: set[str] = set()
        kind = about.group, about.resource
        named = self._by_name.get((*kind, about.name), ())
        for wrote in chain(named, self._by_name.get((*kind, ""), ())):
            if wrote.verb not in VERBS[verb] or wrote.namespace not in ("", about.namespace):
                continue
            if wrote.revision == revision:
                return wrote.user
            if wrote.revision and wrote.verb != MANY and verb != "delete":
                continue
            if wrote.received_ms - SLACK_MS <= at_ms <= wrote.answered_ms + SLACK_MS:
                users.add(wrote.user)
        return users.pop() if len(users) == 1 else ""


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
    return Wrote(
        user=str(user["username"]),
        verb=str(event["verb"]),
        group=str(about.get("apiGroup") or ""),
        resource=str(about["resource"]),
        namespace=str(about.get("namespace") or ""),
        name=str(about.get("name") or made.get("name") or ""),
        received_ms=_ms(event["requestReceivedTimestamp"]),
        answered_ms=_ms(event["stageTimestamp"]),
        revision=int(made.get("resourceVersion") or 0),
    )


def _ms(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp() * 1000)
