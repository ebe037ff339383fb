"""Parts of kinds that are not built in: what a CustomResourceDefinition says of one version.

Source: strategy.go, status_strategy.go, validator.go and etcd.go of apiextensions-apiserver
(registry/customresource).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubetrio.crd.customtype import CustomType, Settling, Version
from kubetrio.crd.customvalidation import ObjectChecks, without_schema
from kubetrio.kinds.common.customcolumns import custom_printer
from kubetrio.kinds.common.replicapaths import check_replicas, check_selector
from kubetrio.kinds.common.writerules import ALL_BUT_STATUS, STATUS_ONLY
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names_validation import qualified_name
from kubetrio.machinery.objectmeta import STANDARD_FINALIZERS
from kubetrio.machinery.ownership import FieldFilter
from kubetrio.machinery.status import forbidden
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, Getter, at
from kubetrio.schema.kind import Conversion, Kind, PlainParts, ScalePaths, Strategy, WaitingConvert
from kubetrio.schema.objecttype import ObjectType, OpenType
from kubetrio.schema.printing import Json as Shown
from kubetrio.schema.printing import Printer
from kubetrio.schema.rules import (
    Causes,
    Context,
    Create,
    Json,
    MetadataChecks,
    Validation,
    WriteStrategy,
    unchanged_object,
)

_METADATA = ("metadata.name", "metadata.namespace")
TERMINATING = "create not allowed while custom resource definition is terminating"


def custom_prefix(group: str, resource: str) -> str:
    """Storage key prefix of the objects of a custom resource.

    Args:
        group: its API group.
        resource: its plural name.
    """
    return f"/registry/{group}/{resource}/"


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomParts(PlainParts):
    """The parts of one version of a custom resource.

    Args:
        schema: ``openAPIV3Schema`` of the version, None for any objects; it must not change.
        columns: ``additionalPrinterColumns``; none means an ``Age`` column.
        selectable: ``selectableFields``: JSON paths such as ``.spec.color``.
        converts: how objects come from the version in which they are stored, and go there; None
            where only the name of the version differs.
        version: what a CustomResourceDefinition says of objects of this version, beside `schema`;
            None for objects that are kept as they are sent, defaults and rules left out.
    """

    schema: Json | None = None
    columns: Sequence[Json] | None = None
    selectable: Sequence[str] = ()
    converts: Conversion | None = None
    version: Version | None = None

    def strategy(self, kind: Kind) -> Strategy:
        """See `Parts`."""
        status = "status" in kind.subresources
        return Strategy(
            generation=True,
            generation_counts=True,
            generation_status=not status,
            status=status,
            unconditional_update=False,
        )

    def rules(self, kind: Kind) -> WriteStrategy:
        """See `Parts`."""
        keep: dict[str, FieldFilter] = {}
        if "status" in kind.subresources:
            keep = {"": ALL_BUT_STATUS, "status": STATUS_ONLY}
        scale = kind.subresources.get("scale")
        checks = _scale_checks(None if scale is None else scale.replicas)
        version = self.version
        if version is None:
            checks = without_schema(checks, kind)
        else:
            checks = ObjectChecks(version, checks, kind).validation()
        return WriteStrategy(
            default=unchanged_object if version is None else _filling_in(version, kind),
            prepare_create=_preparing(version, status=bool(keep)),
            prepare_update=_metadata_stay,
            validation=replace(checks, warnings=_finalizer_warnings),
            finish=_filling_in_status(version, kind) if version is not None and keep else None,
            metadata=MetadataChecks(updated=(0, 1), standard_finalizers=False),
            keep=keep,
        )

    def printer(self, kind: Kind) -> Printer:
        """See `Parts`; columns are about objects of this version."""
        printer = custom_printer(self.columns)
        if kind.stored is kind:
            return printer
        cells = printer.cells

        def converted(obj: Shown, now: float) -> list[Any]:
            return cells(_in_version(kind, obj), now)

        return replace(printer, cells=converted)

    def object_type(self, kind: Kind) -> ObjectType:
        """See `Parts`."""
        if self.version is None:
            return OpenType(self.schema)
        return CustomType(self.version, kind.group_kind)

    def conversion(self, kind: Kind) -> Conversion:
        """See `Parts`."""
        plain = super().conversion(kind)
        own, version = self.converts, self.version
        if own is None and version is not None:
            return version.conversion(kind)
        if own is None or own.waiting is not None:
            return own or plain
        return Conversion(
            lambda obj: plain.to_stored(own.to_stored(obj)),
            lambda obj: plain.from_stored(own.from_stored(obj)),
        )

    def migrate_stored(self, _: Kind) -> WaitingConvert | None:
        """See `Parts`."""
        version = self.version
        if version is None or version.shared.settled:
            return None
        own = self.converts
        return Settling(version.shared, None if own is None else own.waiting)

    def selectors(self, kind: Kind) -> FieldSelectors:
        """See `Parts`."""
        names = tuple(path.removeprefix(".") for path in self.selectable)
        supported = _METADATA if kind.namespaced else _METADATA[:1]
        return FieldSelectors(
            getters={name: _getter(kind, name) for name in names},
            supported=(*supported, *names),
            refusal=SHORT,
        )


def _in_version(kind: Kind, obj: Shown) -> Shown:
    """A stored object in a version; where the conversion waits it has come in it."""
    return obj if kind.waiting is not None else kind.from_stored(dict(obj))


def _getter(kind: Kind, name: str) -> Getter:
    """Reads a field of the version from a stored object."""
    get = at(name)
    if kind.stored is kind:
        return get
    return lambda obj: get(_in_version(kind, obj))


def _filling_in(version: Version, kind: Kind) -> Callable[[Json], None]:
    """What fills in the defaults of the version that an object says it is of."""

    def fill_in(obj: Json) -> None:
        if (own_version := version.of(obj, kind.group_kind)) is not None:
            own_version.fill_in(obj)

    return fill_in


def _filling_in_status(version: Version, kind: Kind) -> Callable[[Json], None]:
    """What fills in the defaults of a status, which preparation takes out of new objects."""

    def fill_in_status(obj: Json) -> None:
        if (own_version := version.of(obj, kind.group_kind)) is not None:
            own_version.fill_in_status(obj)

    return fill_in_status


def _preparing(version: Version | None, *, status: bool) -> Create:
    """What is done to new objects, which there are none of while their definition goes away."""

    def prepare(new: Json, _context: Context) -> None:
        if version is not None and version.shared.terminating:
            name = (new.get("metadata") or {}).get("name") or ""
            raise forbidden(version.shared.resource, name, TERMINATING)
        if status:
            new.pop("status", None)

    return prepare


def _metadata_stay(new: Json, old: Json, _context: Context, subresource: str) -> None:
    """A write of the status changes nothing else but who owns what."""
    if subresource != "status":
        return
    meta = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
    if "managedFields" in new["metadata"]:
        meta["managedFields"] = new["metadata"]["managedFields"]
    new["metadata"] = meta


def _scale_checks(paths: ScalePaths | None) -> Validation:
    if paths is None:
        return Validation()

    def create(obj: Any, _path: str, causes: Causes) -> None:
        check_replicas(obj, paths.wanted, causes)
        status(obj, obj, causes)

    def status(new: Json, _old: Json, causes: Causes) -> None:
        check_replicas(new, paths.actual, causes)
        if paths.selector:
            check_selector(new, paths.selector, causes)

    def scaled(new: Json, _old: Json, causes: Causes) -> None:
        create(new, "", causes)

    return Validation(create=create, subresources={"status": status, "scale": scaled})


def _finalizer_warnings(new: Json, old: Json | None) -> list[str]:
    """Advice about finalizers that were not there before."""
    before = set(_finalizers(old or {}))
    return [
        f"metadata.finalizers: {quote(text)}: {why}"
        for text in sorted(set(_finalizers(new)) - before)
        for why in _advice(text)
    ]


def _finalizers(obj: Mapping[str, Any]) -> Sequence[str]:
    return (obj.get("metadata") or {}).get("finalizers") or ()


def _advice(finalizer: str) -> list[str]:
    problems = list(qualified_name(finalizer))
    if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
        how = "finalizer name including a path (/)" if "." in finalizer else "finalizer name"
        problems.append(
            f"prefer a domain-qualified {how} to avoid accidental conflicts with other "
            "finalizer writers"
        )
    return problems
