"""The type of custom resources: what of a body is kept, and how versions of objects differ.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go
(unstructuredSchemaCoercer, unstructuredDefaulter).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kubetrio.machinery.jsonvalues import copy_json, is_deeper
from kubetrio.machinery.names import GroupKind, GroupResource, GroupVersion
from kubetrio.machinery.status import ApiError, too_large_to_store
from kubetrio.resources.objects import MOST_BYTES
from kubetrio.schema.kind import Conversion, Kind, WaitingConvert
from kubetrio.schema.objecttype import OpenType
from kubetrio.schema.structural import MAX_DEPTH, Report
from kubetrio.structural import structure
from kubetrio.structural.schemaparts import RULES, Marks, marks_of, parts_of
from kubetrio.structural.structure import METADATA, Node
from kubetrio.structural.values import Checker
from kubetrio.wire.goscan import GoJsonError, Pairs

if TYPE_CHECKING:
    from kubetrio.structural.celrules import Place

Json = dict[str, Any]
READ_BYTES = 16 * 1024 * 1024
"""Of defaults that objects get which are read together, a hundred or so."""
_NOTHING_REPEATED: Mapping[int, Pairs] = {}


@dataclass(slots=True, kw_only=True, eq=False)
class Shared:
    """What all versions of a custom resource have in common, and what changes while it is served.

    Args:
        resource: its name in messages.
        preserves: whether what no schema knows is kept everywhere (``preserveUnknownFields``).
        terminating: whether its definition goes away.
        settled: whether all that is stored is known to be as it would be written today.
        versions: by the name of a version, what is said of its objects.
    """

    resource: GroupResource
    preserves: bool = False
    terminating: bool = False
    settled: bool = False
    versions: dict[str, Version] = field(default_factory=dict)

    def as_written_today(self, obj: Json) -> Json:
        """A stored object as it would be written today in its version."""
        return _settled(self, obj, MOST_BYTES)[0]


class Version:
    """What a definition says of the objects of one version; made when it is needed.

    Args:
        schema: ``openAPIV3Schema``, None for none; it must not change.
        shared: with the other versions.
        status: whether there is the subresource ``status``.
    """

    def __init__(self, schema: Json | None, shared: Shared, *, status: bool = False) -> None:
        self.schema = schema
        self.shared = shared
        self.status = status

    @cached_property
    def marks(self) -> Marks | None:
        """What is in the parts of the schema, None for a small one."""
        return marks_of(self.schema or {})

    @cached_property
    def node(self) -> Node:
        """The schema, for pruning and defaults."""
        return Node(self.schema or {}, root=True, marks=self.marks)

    @cached_property
    def checker(self) -> Checker:
        """The schema, for validation."""
        return Checker(self.schema or {}, marks=self.marks)

    @cached_property
    def rules(self) -> Place | None:
        """The rules in the schema.

        Raises:
            Missing: there are some, and no engine.
        """
        marks, schema = self.marks, self.schema
        if schema is None:
            return None
        if not (_has_rules(schema) if marks is None else marks.has(schema, RULES)):
            return None
        from kubetrio.structural.celrules import compiled

        return compiled(schema, marks=marks)

    def of(self, obj: Json, wanted: GroupKind) -> Version | None:
        """The version that an object says it is of, None for an object of another kind.

        A body may say another version than the path: it is looked at in that version until it is
        refused.  A version that there is not knows no members.
        """
        group_version = GroupVersion.parse(obj.get("apiVersion") or "")
        if obj.get("kind") != wanted.kind or group_version.group != wanted.group:
            return None
        versions = self.shared.versions
        if group_version.version in versions:
            return versions[group_version.version]
        return Version({}, self.shared) if versions else self

    def fill_in(self, obj: Json) -> None:
        """Fill in defaults, in place.

        Raises:
            ApiError: 500, with them it would be too large to be stored.
        """
        if self.node.defaults:
            try:
                structure.fill_in(self.node, obj)
            except structure.TooLarge:
                raise too_large_to_store() from None

    def fill_in_status(self, obj: Json) -> None:
        """Fill in the defaults of the status of a new object, in place.

        Raises:
            ApiError: 500, they are too large to be stored.
        """
        try:
            structure.fill_in_member(self.node, obj, "status")
        except structure.TooLarge:
            raise too_large_to_store() from None

    def keep_known(self, obj: Json) -> list[str]:
        """Drop what the schema does not know, in place; returns the paths of what went."""
        if self.shared.preserves:
            return []
        gone = structure.prune(self.node, obj)
        structure.drop_nulls(self.node, obj)
        return gone

    def settled(self, obj: Json) -> Json:
        """A stored object of this version as it is read: pruned, with defaults; a copy."""
        return self.settled_within(obj, MOST_BYTES)[0]

    def settled_within(self, obj: Json, room: int) -> tuple[Json, int]:
        """Bring a stored object in order, without its defaults where there is no room for them.

        Args:
            obj: the object.
            room: bytes that its defaults may take.

        Returns:
            The object, and how much room is left.
        """
        readable = self._readable(obj)
        if not self.node.defaults:
            return readable, room
        may = structure.Room(min(room, MOST_BYTES))
        try:
            structure.fill_in(self.node, readable, may)
        except structure.TooLarge:
            return self._readable(obj), room
        return readable, room - (min(room, MOST_BYTES) - may.left)

    def _readable(self, obj: Json) -> Json:
        """A stored object of this version without what is unknown and what cannot be read."""
        result: Json = copy_json(obj)
        self.keep_known(result)
        structure.coerce(self.node, result, drop=True)
        return result

    def turned(self, obj: Json, api_version: str) -> Json:
        """An object of another version in this one, whose only difference is its schema.

        Raises:
            ApiError: 500, this version has resources inside, whose metadata cannot be read.
        """
        result: Json = copy_json(obj)
        result["apiVersion"] = api_version
        self.coerced(result)
        return result

    def coerced(self, obj: Json) -> Json:
        """An object that was brought to this version, changed to what its schema knows.

        Raises:
            ApiError: 500, as for `turned`.
        """
        self.keep_known(obj)
        try:
            structure.coerce(self.node, obj)
        except structure.Malformed as error:
            raise ApiError(500, "", str(error)) from None
        return obj

    def conversion(self, kind: Kind) -> Conversion:
        """How objects of this version come from the stored one, and go there."""
        stored = self.shared.versions[kind.stored.version]
        to, here = kind.stored.api_version, kind.api_version
        if stored.schema == self.schema:
            return Conversion(
                lambda obj: {**obj, "apiVersion": to},
                lambda obj: {**obj, "apiVersion": here},
                renames=True,
            )
        embeds = self.node.embeds or stored.node.embeds
        return Conversion(
            lambda obj: stored.turned(obj, to),
            lambda obj: self.turned(obj, here),
            # What may fail is done before an answer begins.
            Renaming(self.shared) if embeds else None,
            renames=True,
        )


class Renaming:
    """Brings objects to versions whose only difference is their schemas, where that may fail.

    Args:
        shared: the versions.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def __call__(self, objects: Sequence[Json], to: Kind) -> Sequence[Json]:
        """See `WaitingConvert`."""
        version = self._shared.versions[to.version]
        return [version.turned(obj, to.api_version) for obj in objects]


class Settling:
    """Brings stored objects in order: by the schema of the version in which they were written.

    Args:
        shared: the versions.
        waiting: converts between them, None where only their names differ.
    """

    def __init__(self, shared: Shared, waiting: WaitingConvert | None) -> None:
        self._shared = shared
        self._waiting = waiting

    async def __call__(self, objects: Sequence[Json], to: Kind) -> Sequence[Json]:
        """See `WaitingConvert`."""
        values, room = [], READ_BYTES
        for obj in objects:
            self._check(obj, to)
            one, room = _settled(self._shared, obj, room)
            values.append(one)
        api_version = to.api_version
        if self._waiting is None:
            version = self._shared.versions[to.version]
            return [
                obj if obj["apiVersion"] == api_version else version.turned(obj, api_version)
                for obj in values
            ]
        others = [at for at, obj in enumerate(values) if obj["apiVersion"] != api_version]
        if others:
            converted = await self._waiting([values[at] for at in others], to)
            for at, obj in zip(others, converted, strict=False):
                values[at] = obj
        return values

    def _check(self, obj: Json, to: Kind) -> None:
        """Refuse an object of a version that the definition does not have.

        Raises:
            ApiError: 500, in kube-apiserver's words.

        Source: k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/converter.go;
        k8s.io/apimachinery/pkg/runtime/error.go.
        """
        group_version = GroupVersion.parse(obj["apiVersion"])
        if group_version.group != to.group:
            stranger = f"{'/'.join(group_version)}, Kind={obj['kind']}"
            why = (
                f"{stranger} is unstructured and is not suitable for converting to "
                f'"{to.api_version}"'
            )
            raise ApiError(500, "", why)
        if group_version.version not in self._shared.versions:
            why = f"request to convert CR from an invalid group/version: {obj['apiVersion']}"
            raise ApiError(500, "", why)


def _settled(shared: Shared, obj: Json, room: int) -> tuple[Json, int]:
    version = shared.versions.get(obj["apiVersion"].rpartition("/")[2])
    return (obj, room) if version is None else version.settled_within(obj, room)


def _has_rules(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("x-kubernetes-validations")) or any(map(_has_rules, parts_of(schema)))


class CustomType(OpenType):
    """Objects of one version of a custom resource.

    Args:
        version: what its definition says.
        kind: group and kind; other objects, which a path may be given, are not looked into.
    """

    def __init__(self, version: Version, kind: GroupKind) -> None:
        super().__init__(version.schema)
        self._version = version
        self._kind = kind

    def decode(
        self, raw: Any, report: Report, repeated: Mapping[int, Pairs] = _NOTHING_REPEATED
    ) -> Json:
        """See `ObjectType`: numbers are Go's, and what is unknown goes.

        Raises:
            ValueError: metadata, of the object or inside of it, cannot be read.
        """
        del repeated
        whole = self.restore(dict(raw or {}), report)
        if (version := self._version.of(whole, self._kind)) is not None:
            unknown = version.keep_known(whole)
            unknown += structure.coerce(version.node, whole)
            report.strict += [f'unknown field "{path}"' for path in unknown]
        return whole

    def restore(self, merged: Json, report: Report) -> Json:
        """See `ObjectType`: the merged object is checked with all that is in it.

        Raises:
            ValueError: its metadata cannot be read.
        """
        if is_deeper(merged, MAX_DEPTH):
            raise GoJsonError("exceeded max depth")
        whole: Json = copy_json(merged)
        structure.as_go_numbers(whole)
        if "metadata" in whole:
            inner = Report()
            whole["metadata"] = METADATA.decode(whole["metadata"], inner) or {}
            report.strict += [text.replace('"', '"metadata.', 1) for text in inner.strict]
        return whole

    def drop_unknown(self, obj: Json) -> None:
        """See `ObjectType`.

        Raises:
            ValueError: metadata of an object inside of it cannot be read.
        """
        self._version.keep_known(obj)
        structure.coerce(self._version.node, obj)
