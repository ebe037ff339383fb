"""Whether a store is in order: its file, its tables, and each value as an object of its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubetrio.datadir.objects import DEFINITIONS, Kinds, Object, decoded
from kubetrio.schema.kind import Kind
from kubetrio.schema.structural import Report
from kubetrio.store.model import EventType, Range
from kubetrio.store.sqlite.copies import Shrunk, Tell, settled, shrink
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.inspection import FILE_NAME, Fault, Inspection, LogRow, existing, inspect
from kubetrio.wire.goscan import GoJsonError

__all__ = ["FILE_NAME", "Fault", "Seen", "Shrunk", "existing", "settled", "shrink", "verify"]

OWN = "/kubetrio/"


@dataclass(slots=True)
class Seen:
    """What a check came across.

    Args:
        schema: version of the schema.
        release: of kubetrio that opened the directory for writing last; empty where unknown.
        revision: newest revision.
        compacted: newest compacted revision.
        revisions: that were looked at.
        live: objects.
        encrypted: values that cannot be read without their keys, by folder.
    """

    schema: int = 0
    release: str = ""
    revision: int = 0
    compacted: int = 0
    revisions: int = 0
    live: int = 0
    encrypted: Counter[str] = field(default_factory=Counter)


def verify(database: Path, seen: Seen, tell: Tell, pulse: Callable[[], None]) -> Iterator[Fault]:
    """What is wrong with a database.  Blocking.

    Args:
        database: its file, which a server may use.
        seen: is filled.
        tell: of revisions.
        pulse: called now and then while SQLite checks the file.

    Raises:
        DatabaseUnusable: it is none, or of a newer kubetrio.
    """
    with inspect(database) as snapshot:
        seen.schema, seen.release = snapshot.schema, snapshot.release
        seen.revision, seen.compacted = snapshot.revision, snapshot.compacted
        yield from snapshot.faults(pulse)
        try:
            yield from _objects(snapshot, seen, tell)
        except DatabaseUnusable as error:
            yield Fault(database.name, str(error))


def _objects(snapshot: Inspection, seen: Seen, tell: Tell) -> Iterator[Fault]:
    kinds = Kinds(_definitions(snapshot))
    total = len(snapshot)
    for row in snapshot.rows():
        seen.revisions += 1
        seen.live += row.live
        what = _wrong(row, kinds, seen)
        if what:
            yield Fault(f"{row.key} at revision {row.revision}", what)
        tell(seen.revisions, total)


def _definitions(snapshot: Inspection) -> Iterator[Object]:
    for stored in snapshot.values(Range.prefix(DEFINITIONS)):
        try:
            value = decoded(stored)
        except ValueError:  # told of it where all values are looked at
            continue
        if value is not None:
            yield value


def _wrong(row: LogRow, kinds: Kinds, seen: Seen) -> str:
    """What is wrong with a value; empty for nothing."""
    if not row.intact:
        return "its value or its key is damaged: the checksum of the row does not match"
    try:
        value = decoded(row.value)
    except ValueError as error:
        return f"is no JSON object: {error}"
    if row.key.startswith(OWN):
        return ""
    kind = kinds.of(row.key)
    if value is None:
        seen.encrypted[kind.storage_prefix if kind else row.key.rpartition("/")[0]] += 1
        return ""
    if kind is None:
        # Of what is deleted with its definition, the history stays for a while.
        return "is of no kind that is served here" if row.live else ""
    return _misplaced(row, value, kind) or _undecodable(value, kind)


def _misplaced(row: LogRow, value: Object, kind: Kind) -> str:
    """Whether an object is another than its key says."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    if (group, value.get("kind")) != (kind.group, kind.kind):
        named_kind = f"{value.get('apiVersion')} {value.get('kind')}"
        return f"says that it is {named_kind}, and is among {kind.group_resource}"
    meta: Any = value.get("metadata")
    if not isinstance(meta, dict):
        return "has no metadata"
    where = kind.key(str(meta.get("namespace") or ""), str(meta.get("name") or ""))
    if where != row.key:
        return f"says that its key is {where}"
    stamped = meta.get("resourceVersion")
    # What lives out its time while it is encrypted is deleted as it was stored.
    if stamped != str(row.revision) and row.type is not EventType.DELETED:
        return f"says that its revision is {stamped}"
    return ""


def _undecodable(value: Object, kind: Kind) -> str:
    versions = kind.family.versions if kind.family else {kind.group_version: kind}
    for version in versions.values():
        if version.api_version == value["apiVersion"]:
            try:
                version.type.decode(value, Report())
            except GoJsonError as error:
                return f"cannot be decoded: {error}"
    return ""
