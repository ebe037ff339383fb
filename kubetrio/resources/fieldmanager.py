"""Field ownership of a write: who manages which fields (docs: "Server-Side Apply").

Tracked in the version of the request, after defaulting and before admission, as kube-apiserver
does: what admission or the server adds later has no owner.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from kubetrio.machinery import managedfields
from kubetrio.machinery.applyvalues import TypedError
from kubetrio.machinery.managedfields import Applied, Write
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.ownership import Convert, Rules, all_fields
from kubetrio.machinery.remember import counted_by
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.typeschema import OPAQUE, TypeKind, TypeSchema
from kubetrio.resources.conversion import converted
from kubetrio.schema.empties import below, in_wholes, put_back
from kubetrio.schema.kind import Kind, WaitingConvert, cached_on_kind
from kubetrio.wire import jsonwire
from kubetrio.wire.report import Empties, Report

Object = dict[str, Any]


class Unconverted(Exception):
    """Ownership looks at an object in a version to which its conversion has to be waited for.

    Args:
        obj: the object, in another version.
        wanted: the kind in the version looked at.
        convert: what converts it.
    """

    def __init__(self, obj: Object, wanted: Kind, convert: WaitingConvert) -> None:
        super().__init__(wanted.api_version)
        self.obj = obj
        self.wanted = wanted
        self.convert = convert


Known = Callable[[Object, Kind, WaitingConvert], Object]
"""An object in the version of a kind; raises `Unconverted` until that is waited for."""


def _unknown(obj: Object, wanted: Kind, convert: WaitingConvert) -> Object:
    raise Unconverted(obj, wanted, convert)


def _converter(resource: Kind, known: Known = _unknown) -> Convert:
    """Conversion between the served versions of a kind, with the type of the result."""

    def to_version(obj: Object, api_version: str) -> tuple[Object, TypeSchema] | None:
        try:
            group_version = GroupVersion.parse(api_version)
        except ValueError as error:  # clients write entries too
            raise TypedError([("", str(error))]) from error
        versions = {} if resource.family is None else resource.family.versions
        target = versions.get(group_version)
        if target is None:
            return None
        # An object that was brought to another version may come back from there.
        given = versions.get(GroupVersion.parse(obj["apiVersion"]), resource)
        try:
            # What an apply has merged is not decoded yet; members that Go prints may be missing.
            whole = given.type.restore(obj, Report())
        except ValueError:
            return None
        if given.renames and target.renames:
            return {**whole, "apiVersion": api_version}, target.type.merge
        waiting = given.converter or target.converter
        if waiting is not None:
            return known(whole, target, waiting), target.type.merge
        try:
            whole = target.from_stored(given.to_stored(whole))
        except ValueError:
            return None
        return whole, target.type.merge

    return to_version


@cached_on_kind
def rules_of(resource: Kind, subresource: str) -> Rules:
    """Ownership rules of a resource or subresource."""
    return Rules(
        convert=_converter(resource),
        keep=resource.rules.keep.get(subresource, all_fields),
        kept_in=None if resource.builtin else _filtered_versions(resource, subresource),
    )


def _filtered_versions(resource: Kind, subresource: str) -> frozenset[str]:
    """Versions of a custom resource whose fields a request may not set are known to it.

    kube-apiserver gives the resource itself those of its own version, and a subresource those of
    all versions that have it.
    """
    if resource.family is None or not subresource:
        return frozenset({resource.api_version})
    versions = resource.family.versions.values()
    return frozenset(one.api_version for one in versions if subresource in one.subresources)


REMEMBERED_SHAPES = 2048  # of all kinds together
REMEMBERED_SHAPE_BYTES = 4096
REMEMBERED_ITEMS = 128  # of a list; the shape of a longer one takes more memory than it is worth


class _Shapes(dict[tuple[str, Hashable], Object]):
    """Owned fields of new objects of a kind by subresource and shape.

    Most objects a client creates have one of a few shapes, and what is owned does not depend on the
    values.
    """


_KNOWN: WeakValueDictionary[int, _Shapes] = WeakValueDictionary()


@cached_on_kind
def _shapes_of(_: Kind) -> _Shapes:
    shapes = _Shapes()
    _KNOWN[id(shapes)] = shapes
    return shapes


def _remembered() -> int:
    """How many shapes are remembered."""
    return sum(len(shapes) for shapes in _KNOWN.values())


counted_by(__name__, _remembered)


def _remember(shapes: _Shapes, key: tuple[str, Hashable], fields: Object) -> None:
    """Remember the owned fields of a shape, in place of those of its kind where there are many."""
    if _remembered() >= REMEMBERED_SHAPES:
        shapes.clear()  # names of items that do not come again fill it up
        if _remembered() >= REMEMBERED_SHAPES:
            return
    if len(jsonwire.encode(fields)) <= REMEMBERED_SHAPE_BYTES:
        shapes[key] = fields


def shape(obj: Object, schema: TypeSchema) -> Hashable:
    """Return what decides which fields of a new object are owned; None where that is not known.

    Those are the names of members, which values are zero and which items a list has.  Other values
    do not matter.

    Args:
        obj: the object, or a part of it.
        schema: its type.
    """
    described: list[Hashable] = []
    fields, element = schema.fields, schema.element
    for key, item in obj.items():
        form = type(item)
        if not item:
            described.append((key, form))
        elif form is dict:
            inner = fields.get(key) or element or OPAQUE
            of_members = inner.element
            if (
                of_members is not None
                and of_members.kind is TypeKind.SCALAR
                and not inner.fields
                and all(item.values())
            ):
                described.append((key, tuple(item)))  # such as labels
                continue
            # The parts of an atomic value are not owned, but they say whether it is zero.
            part = shape(item, OPAQUE if inner.atomic else inner)
            if part is None:
                return None
            described.append((key, part))
        elif form is list:
            of_list = fields.get(key) or element
            if of_list is None or of_list.atomic or of_list.kind is not TypeKind.LIST:
                described.append(key)
                continue
            items = _shape_of_items(item, of_list)
            if items is None:
                return None
            described.append((key, items))
        else:
            described.append(key)
    return tuple(described)


def _shape_of_items(items: list[Any], schema: TypeSchema) -> Hashable:
    """Return the shape of a list whose items are owned one by one."""
    parts: list[Hashable] = []
    element, keys = schema.element, schema.keys
    if element is None or len(items) > REMEMBERED_ITEMS:
        return None
    for item in items:
        if schema.list_type != "map":
            form = type(item)
            if form not in _SCALARS:
                return None
            parts.append(item if form is str else (form, item))
            continue
        if type(item) is not dict:
            return None
        part = shape(item, element)
        if part is None:
            return None
        for name in keys:
            value = item.get(name)
            form = type(value)
            if form not in _SCALARS and value is not None:
                return None
            parts.append(value if form is str else (form, value))
        parts.append(part)
    return tuple(parts)


_SCALARS = frozenset({str, int, float, bool})


class FieldManager:
    """Tracks the fields one write sets.

    Args:
        resource: the resource, in the version of the request.
        manager: field manager, as given or from the user agent.
        now: time of the write, RFC 3339.
        subresource: that is written, or empty.
    """

    def __init__(self, resource: Kind, manager: str, now: str, subresource: str = "") -> None:
        self._resource = resource
        self._manager = manager
        self._now = now
        self.subresource = subresource
        self._known: dict[tuple[str, bytes], Object | ApiError] = {}

    async def learn(self, missing: Unconverted) -> None:
        """Wait for a conversion that ownership needs; what raised is to be called again.

        Args:
            missing: what it raised.
        """
        obj, wanted = missing.obj, missing.wanted
        result: Object | ApiError
        try:
            [result] = await converted([obj], wanted, missing.convert, coerce=False)
        except ApiError as error:
            result = error
        self._known[wanted.api_version, jsonwire.encode(obj)] = result

    def _learnt(self, obj: Object, wanted: Kind, convert: WaitingConvert) -> Object:
        result = self._known.get((wanted.api_version, jsonwire.encode(obj)))
        if result is None:
            raise Unconverted(obj, wanted, convert)
        if isinstance(result, ApiError):
            # As kube-apiserver has it: an update goes on, without owners; an apply is refused.
            raise TypedError([("", result.message)])
        return result

    def _rules(self) -> Rules:
        rules = rules_of(self._resource, self.subresource)
        if not self._known:
            return rules
        return replace(rules, convert=_converter(self._resource, self._learnt))

    def _write(self) -> Write:
        """The write as ownership sees it; many creations do without it."""
        resource = self._resource
        return Write(
            schema=resource.type.merge,
            kind=resource.group_version_kind,
            manager=self._manager,
            now=self._now,
            subresource=self.subresource,
            rules=self._rules(),
            empty=resource.type.zero,
            fits=resource.builtin,
            settled=resource.migrate_stored is None,
        )

    def created(self, obj: Object) -> None:
        """Note the owner of a new object's fields; changes the object."""
        meta, shown = obj.get("metadata") or {}, self._converted(obj)
        seen = None if "managedFields" in meta else shape(shown, self._resource.type.merge)
        if seen is None:
            self._note(obj, managedfields.on_create(shown, self._write()))
            return
        shapes = _shapes_of(self._resource)
        key = (self.subresource, seen)
        fields = shapes.get(key)
        if fields is None:
            entries = managedfields.on_create(shown, self._write())
            self._note(obj, entries)
            if len(entries) == 1:
                _remember(shapes, key, entries[0]["fieldsV1"])
            return
        entry = managedfields.update_entry(
            self._manager, self._resource.api_version, self._now, fields, self.subresource
        )
        self._note(obj, [entry])

    def updated(self, live: Object, new: Object, empties: Empties | None = None) -> None:
        """Note who owns what after an update.

        Args:
            live: as it is stored.
            new: what the client wants; changed.
            empties: members of it that were given and are empty.
        """
        seen = self._converted(new)
        if empties:
            if below(empties, "metadata", "managedFields") == [] and not self.subresource:
                self._note(new, [])
                return
            seen = put_back(seen, in_wholes(empties, self._resource.type.merge))
        self._note(new, managedfields.on_update(live, seen, self._write()))

    def _converted(self, obj: Object) -> Object:
        """An object as the conversion from the internal version makes it.

        Fields of the internal version that others have no place for become annotations there, and
        so belong to who writes the object.
        """
        held = self._resource.type.held
        if held is None or held.zero is None:
            return obj
        meta = obj.get("metadata") or {}
        annotations = {held.annotation: held.zero, **(meta.get("annotations") or {})}
        return {**obj, "metadata": {**meta, "annotations": annotations}}

    def applied(self, live: Object | None, config: Object, *, force: bool) -> Applied:
        """Apply a configuration.

        Raises:
            ApiError: 400, 409 on conflicts, 500 as kube-apiserver has it.
        """
        return managedfields.on_apply(live, config, self._write(), force=force)

    @staticmethod
    def _note(obj: Object, entries: list[Object]) -> None:
        meta = obj.setdefault("metadata", {})
        if entries:
            meta["managedFields"] = entries
        else:
            meta.pop("managedFields", None)
