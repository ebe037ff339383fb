"""``metadata.managedFields``: its entries, and what becomes of them on each kind of write.

The three functions at the end are what a server calls.  Rules (KEP-555, the API reference of
``ManagedFieldsEntry``, the documentation of Server-Side Apply):

- a manager is known by name, operation, subresource and, for updates, version;
- entries that cannot be read, or none at all, leave the live ones as they are; one empty entry
  clears them, and an object without entries is not tracked again before a client applies to it;
  then all that is there belongs to ``before-first-apply``;
- a time changes when its manager takes fields, or applies something that changes the object;
- beyond ten updaters, the oldest of one version become one, ``ancient-changes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from kubetrio.machinery import lastapplied
from kubetrio.machinery.apply import Merged, apply, conflict_error
from kubetrio.machinery.applyvalues import TypedError, validate
from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.ownership import (
    APPLY,
    ONE_VERSION,
    UPDATE,
    ApplyConflict,
    ConversionError,
    Manager,
    Owned,
    Owners,
    Rules,
    Typed,
    reconcile,
    track_update,
)
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.machinery.typeschema import TypeSchema

Json = dict[str, Any]

FIELDS_TYPE = "FieldsV1"
UPDATERS_LIMIT = 10
"""Update managers that an object keeps apart."""
UNKNOWN = "unknown"
ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"
_RESET: list[Json] = [{}]


class InvalidManagedFields(ValueError):
    """Entries that no server wrote."""


class Write(NamedTuple):
    """A write as ownership sees it.

    Args:
        schema: type of the object in the version of the request.
        kind: identity of the object in the version of the request.
        manager: field manager, as given or from the user agent.
        now: time of the write, RFC 3339 in UTC with seconds.
        subresource: that is written, or empty.
        rules: conversions, and the fields that this (sub)resource may set.
        empty: what an object of this kind is before anything is set; see
            ``schema.patchmeta.empty_object``.
        fits: whether objects fit the type whatever they are, since their decoder sees to it.
        settled: whether the same holds of what is stored.
    """

    schema: TypeSchema
    kind: GroupVersionKind
    manager: str
    now: str
    subresource: str = ""
    rules: Rules = ONE_VERSION
    empty: Mapping[str, Any] = MappingProxyType({})
    fits: bool = True
    settled: bool = True

    @property
    def api_version(self) -> str:
        """Version of the request."""
        return self.kind.api_version

    def owner(self, operation: str, name: str = "") -> Manager:
        """The identity of the writer, or of a name that stands for it."""
        version = self.api_version if operation == UPDATE else ""
        return Manager(name or self.manager or UNKNOWN, operation, version, self.subresource)

    def typed(self, obj: Mapping[str, Any]) -> Typed:
        """An object in the version of the request, without its entries."""
        return Typed(_without_entries(obj), self.schema, self.api_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The outcome of an apply.

    Args:
        obj: the new object without ``managedFields``; not defaulted.
        entries: for ``metadata.managedFields``; empty means to leave it out.
        changed: whether there is anything to write: the object, or entries beyond their times.
        kept: whether the object is the live one, member by member.
    """

    obj: Json
    entries: list[Json]
    changed: bool
    kept: bool = False


def update_entry(
    manager: str, api_version: str, now: str, fields_v1: Json, subresource: str = ""
) -> Json:
    """The entry of an update by a writer that owns some fields; see `Write`."""
    return _entry(manager or UNKNOWN, UPDATE, api_version, now, fields_v1, subresource)


def decode(entries: Any) -> dict[Manager, Owned]:
    """Read ``metadata.managedFields``.

    Raises:
        InvalidManagedFields: an entry could not be of a server.
    """
    out: dict[Manager, Owned] = {}
    for place, entry in enumerate(entries or ()):
        operation = entry.get("operation", "")
        version = entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise InvalidManagedFields("operation must be `Apply` or `Update`")
        if not version:
            raise InvalidManagedFields("apiVersion must not be empty")
        if entry.get("fieldsType") != FIELDS_TYPE:
            given = entry.get("fieldsType", "")
            problem = f'invalid fieldsType "{given}"' if given else "missing fieldsType"
            raise InvalidManagedFields(f"{problem} in managed fields entry {place}")
        manager = Manager(
            entry.get("manager", ""),
            operation,
            version if operation == UPDATE else "",
            entry.get("subresource", ""),
        )
        try:
            fields = FieldSet.from_fields_v1(entry.get("fieldsV1"))
        except ValueError as error:
            raise InvalidManagedFields(f"error decoding set from json: {error}") from error
        out[manager] = Owned(fields, version, entry.get("time"))
    return out


def encode(owners: Owners) -> list[Json]:
    """Write ``metadata.managedFields``: applies first, then by time, name, version, subresource."""
    ordered = sorted(
        owners.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time or "",
            item[0].name,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [
        _entry(
            manager.name,
            manager.operation,
            owned.api_version,
            owned.time,
            owned.fields.to_fields_v1(),
            manager.subresource,
        )
        for manager, owned in ordered
    ]


def _entry(
    manager: str,
    operation: str,
    api_version: str,
    time: str | None,
    fields_v1: Json,
    subresource: str,
) -> Json:
    entry: Json = {}
    if manager:
        entry["manager"] = manager
    entry["operation"] = operation
    entry["apiVersion"] = api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = FIELDS_TYPE
    entry["fieldsV1"] = fields_v1
    if subresource:
        entry["subresource"] = subresource
    return entry


def same_but_times(left: Sequence[Json], right: Sequence[Json]) -> bool:
    """Whether two lists of entries differ in nothing but times."""
    if len(left) != len(right):
        return False
    before = {_identity(entry): entry.get("fieldsV1") for entry in left}
    after = {_identity(entry): entry.get("fieldsV1") for entry in right}
    return before == after


def _identity(entry: Json) -> tuple[Any, ...]:
    get = entry.get
    return get("manager"), get("operation"), get("apiVersion"), get("subresource")


def _entries(obj: Mapping[str, Any]) -> Any:
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def _without_entries(obj: Mapping[str, Any]) -> Json:
    if _entries(obj) is None:
        return obj if isinstance(obj, dict) else dict(obj)
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _readable(entries: Any) -> dict[Manager, Owned]:
    try:
        return decode(entries)
    except InvalidManagedFields:
        return {}


def _owners(live: Mapping[str, Any], new: Json, write: Write) -> dict[Manager, Owned]:
    """Entries that an update starts from: those it brings, else those that are there."""
    given = None if write.subresource else _entries(new)
    if given == _RESET:
        return {}
    return (_readable(given) if given else {}) or _readable(_entries(live))


def _cap(owners: dict[Manager, Owned]) -> None:
    updaters = [manager for manager in owners if manager.operation == UPDATE]
    excess = len(updaters) - UPDATERS_LIMIT
    if excess <= 0:
        return
    updaters.sort(key=lambda manager: (owners[manager].time or "", manager))
    first: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            return
        owned = owners[manager]
        oldest = first.setdefault(owned.api_version, manager)
        if oldest is manager:
            continue
        bucket = Manager(ANCIENT, UPDATE, owned.api_version, "")
        if bucket not in owners:
            owners[bucket] = owners.pop(oldest)
        held = owners[bucket].fields
        del owners[manager]
        owners[bucket] = owned._replace(fields=held.union(owned.fields))
        excess -= 1


def _update(
    owners: Owners, old: Typed, new: Typed, write: Write, name: str = ""
) -> dict[Manager, Owned]:
    """Owners after an update; none if the objects make no sense in their type."""
    manager = write.owner(UPDATE, name)
    try:
        if not write.fits:
            validate(new.value, write.schema, duplicates=True)
        if not write.settled:
            validate(old.value, write.schema, duplicates=True)
        before = reconcile(owners, old, write.rules)
        out = track_update(before, manager, old, new, rules=write.rules, now=write.now)
    except TypedError:
        return {}  # as kube-apiserver does, so that nothing wrong stays there
    _cap(out)
    return out


def on_create(obj: Json, write: Write) -> list[Json]:
    """Entries of an object that is created.

    Args:
        obj: after decoding and defaulting, before admission; it is not changed.
        write: who creates it.

    Returns:
        For ``metadata.managedFields``; empty means to leave it out.
    """
    owners = _owners({}, obj, write)
    return encode(_update(owners, write.typed(write.empty), write.typed(obj), write))


def on_update(live: Json, new: Json, write: Write) -> list[Json]:
    """Entries of an object that is replaced or patched (not applied).

    Args:
        live: as stored, in the version of the request.
        new: with what the client sent, after defaulting, before admission.
        write: who writes.

    Returns:
        For ``metadata.managedFields``; empty means to leave it out.
    """
    owners = _owners(live, new, write)
    if not owners:
        return []
    return encode(_update(owners, write.typed(live), write.typed(new), write))


def on_apply(live: Json | None, config: Json, write: Write, *, force: bool) -> Applied:
    """Apply an object.

    Args:
        live: as stored, in the version of the request; None creates.
        config: as sent: neither decoded nor defaulted.
        write: who applies.
        force: whether to take fields that others own.

    Raises:
        ApiError: 400 of another kind or with ``managedFields``; 409 on conflicts; 500, as
            kube-apiserver has it, if an object does not fit its type.
    """
    given = _kind_of(config)
    if given != write.kind:
        raise bad_request(f"invalid object type: {given.group}/{given.version}, Kind={given.kind}")
    try:
        owners = decode(_entries(live)) if live else {}
    except InvalidManagedFields as error:
        raise ApiError(500, "", f"failed to decode managed fields: {error}") from error
    there = write.typed(write.empty if live is None else live)
    unfit = None if write.fits else _misfit(there, write)
    if unfit is not None and not owners:
        doing = "failed to create manager for existing fields: failed to convert new object"
        raise _unfit(doing, there.value, write, f" to smd typed: {unfit}") from unfit
    _check_config(config, write)
    if unfit is not None:
        doing = "failed to create typed live object"
        raise _unfit(doing, there.value, write, f": {unfit}") from unfit
    if not owners:
        owners = _update(owners, write.typed(write.empty), there, write, BEFORE_FIRST_APPLY)
    applied = Typed(config, write.schema, write.api_version)
    manager = write.owner(APPLY)
    try:
        merged = _apply(there, applied, owners, manager, write, force=force)
    except ConversionError as error:
        raise ApiError(500, "", str(error)) from error
    except TypedError as error:
        doing = "failed to create typed live object"
        raise _unfit(doing, there.value, write, f": {error}") from error
    after = merged.owners
    obj = merged.typed.value
    if merged.typed is not there and manager in after:
        after[manager] = after[manager]._replace(time=write.now)
    if write.manager == lastapplied.MANAGER:
        obj = lastapplied.refreshed(obj, config)
    entries = encode(after)
    changed = live is None or obj != there.value
    return Applied(
        obj=obj,
        entries=entries,
        changed=changed or not same_but_times(_entries(live or {}) or (), entries),
        kept=live is not None and obj is there.value,
    )


def _misfit(typed: Typed, write: Write) -> TypedError | None:
    """What is wrong with a stored object by its type as it is today."""
    try:
        validate(typed.value, write.schema, duplicates=True)
    except TypedError as error:
        return error
    return None


def _check_config(config: Json, write: Write) -> None:
    if _entries(config) is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        validate(config, write.schema)
    except TypedError as error:
        doing = "failed to create typed patch object"
        raise _unfit(doing, config, write, f": {error}") from error


def _kind_of(config: Json) -> GroupVersionKind:
    version, kind = config.get("apiVersion"), config.get("kind")
    try:
        parsed = GroupVersion.parse(version if isinstance(version, str) else "")
    except ValueError:
        return GroupVersionKind("", "", "")
    return GroupVersionKind(*parsed, kind if isinstance(kind, str) else "")


def _unfit(doing: str, obj: Json, write: Write, why: str) -> ApiError:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    identity = (metadata.get("namespace"), metadata.get("name"))
    where = "/".join(text if isinstance(text, str) else "" for text in identity)
    kind = f"{write.kind.group}/{write.kind.version}, Kind={write.kind.kind}"
    return ApiError(500, "", f"{doing} ({where}; {kind}){why}")


def _apply(
    live: Typed, config: Typed, owners: Owners, manager: Manager, write: Write, *, force: bool
) -> Merged:
    try:
        return apply(live, config, owners, manager, rules=write.rules, force=force)
    except ApplyConflict as conflict:
        conflicts = conflict.conflicts
        if manager.name == lastapplied.MANAGER:
            conflicts = lastapplied.remaining(conflicts, live)
        if conflicts:
            raise conflict_error(conflicts) from conflict
    return apply(live, config, owners, manager, rules=write.rules, force=True)
