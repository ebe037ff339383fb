"""The parts of built-in kinds: facts of ``schemas/`` and what the folder of their group says.

A module of a folder is loaded when it is first needed: ``rules`` with the first write of a kind of
the group, ``printers`` with the first table, ``selectors`` with the first field selector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from kubetrio.kinds.common.defaulting import Rules as Defaults
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.row import Row, rules_of
from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.schema import builtin
from kubetrio.schema.fieldselectors import FieldSelectors
from kubetrio.schema.kind import Conversion, Kind, Strategy, WaitingConvert
from kubetrio.schema.objecttype import BuiltinType, ObjectType, OpenType
from kubetrio.schema.printing import DEFAULT_COLUMNS, PLAIN, Column, Printer
from kubetrio.schema.rules import Rules

_NO_ROW = Row()
# Which groups have which modules; the others say nothing of that.
_WITH: Mapping[str, frozenset[str]] = {
    "conversion": frozenset({"autoscaling", "events"}),
    "selectors": frozenset({"batch", "certificates", "core", "events", "resource"}),
}


def folder(group: str) -> str:
    """Name of the folder in which an API group's kinds are: the first label of its name."""
    return group.partition(".")[0] or "core"


@cache
def module_of(group: str, name: str) -> Any:
    """A module of a group's folder, or None where there is none."""
    path = f"{__package__}.{folder(group)}"
    with_it = _WITH.get(name)
    if with_it is not None and folder(group) not in with_it:
        return None
    try:
        return import_module(f"{path}.{name}")
    except ModuleNotFoundError as error:
        if error.name not in (path, f"{path}.{name}"):
            raise
        return None


def _table(kind: Kind, module: str, name: str) -> Mapping[Any, Any]:
    found: Mapping[Any, Any] = getattr(module_of(kind.group, module), name, {})
    return found


def traits_of(group: str, resource: str) -> Mapping[str, Any]:
    """Hand-written facts of a resource, and of its whole group (``schemas/traits.json``)."""
    traits = builtin.load("traits")
    return {**traits.get(f"{group}/*", {}), **traits.get(f"{group}/{resource}", {})}


def collection_path(kind: Kind) -> str:
    """Path of a collection without a namespace: the key of the fact files."""
    root = f"/apis/{kind.group}" if kind.group else "/api"
    return f"{root}/{kind.version}/{kind.resource}"


class BuiltinParts:
    """Makes the parts of built-in kinds; see `Parts`."""

    def strategy(self, kind: Kind) -> Strategy:
        """See `Parts`."""
        path = collection_path(kind)
        said = builtin.load("strategies").get(kind.kind.lower(), {})
        behaviour = builtin.load("behaviours").get(path, {})
        rule = builtin.load("names").get(path, {}).get("class", "")
        traits = traits_of(kind.group, kind.resource)
        deletion = behaviour.get("delete", [200, "Status", False])
        generation = (
            "generationDeltaOnLabelChange" in behaviour
            or "generationDeltaOnSpecChange" in behaviour
            or traits.get("generation", False)
        )
        group, _, rest = traits.get("companion", "").partition("/")
        version, _, resource = rest.partition("/")
        return Strategy(
            # "special" names have rules of their own, "other" ones in the kind's checks
            name_rule=rule if rule in NAME_CHECKS else "dns1123Subdomain253",
            status="status" in kind.subresources,
            create_on_update=said.get("createOnUpdate", False),
            unconditional_update=said.get("unconditionalUpdate", True),
            returns_deleted=(deletion[1] != "Status" and deletion[2] is False)
            or traits.get("returnsDeleted", False),
            generation=generation,
            generation_counts=traits.get("generationCounts", generation),
            generation_exact=said.get("exactGeneration", False),
            generation_metadata=tuple(traits.get("generationMetadata", ())),
            collected=traits.get("collected", True),
            orphan_by_default=traits.get("orphanByDefault", False),
            orphan_warning=traits.get("orphanWarning", ""),
            graceful=traits.get("graceful", False),
            random_names=traits.get("randomNames", True),
            unnamed=traits.get("unnamed", False),
            own_deletion=traits.get("ownDeletion", False),
            waits_for_content=traits.get("waitsForContent", False),
            time_to_live=traits.get("timeToLive", ""),
            companion=(group, version, resource) if resource else None,
        )

    def settle(self, _: Kind) -> WaitingConvert | None:
        """See `Parts`: what is stored is what would be written today."""
        return None

    def rules(self, kind: Kind) -> Rules:
        """See `Parts`."""
        row: Row = _table(kind, "rules", "RULES").get(kind.resource, _NO_ROW)
        defaults: Defaults | None = _defaults(kind)
        return rules_of(kind, row, defaults)

    def printer(self, kind: Kind) -> Printer:
        """See `Parts`."""
        words = builtin.load("columns")
        known = {**words["*"], **words.get(f"{kind.group}/{kind.resource}", {})}
        look = _table(kind, "printers", "PRINTERS").get(kind.resource, PrinterRow(PLAIN.cells))
        facts = _columns().get((kind.group, kind.resource), DEFAULT_COLUMNS)
        columns = look.columns or facts
        return Printer(
            columns=tuple(
                replace(column, description=known.get(column.name, "")) for column in columns
            ),
            default=columns == DEFAULT_COLUMNS,
            cells=look.cells,
            conditions=look.conditions,
            sort_key=look.sort_key,
            hidden=kind.type.held.annotation if kind.type.held else "",
        )

    def object_type(self, kind: Kind) -> ObjectType:
        """See `Parts`."""
        if not kind.schema_name:
            return OpenType()
        as_json = traits_of(kind.group, kind.resource).get("storedAsJson", False)
        return BuiltinType(kind.schema_name, as_json=as_json)

    def conversion(self, kind: Kind) -> Conversion:
        """See `Parts`."""
        found: Conversion = _table(kind, "conversion", "CONVERSIONS")[kind.resource, kind.version]
        return found

    def selectors(self, kind: Kind) -> FieldSelectors:
        """See `Parts`."""
        key = f"{kind.group}/{kind.version}/{kind.resource}"
        default = FieldSelectors()
        found: FieldSelectors = _table(kind, "selectors", "SELECTORS").get(kind.resource, default)
        supported = builtin.load("field-selectors").get(key, default.supported)
        return replace(found, supported=tuple(supported))


def _defaults(kind: Kind) -> Defaults | None:
    return _table(kind, "defaults", "TABLES").get(kind.schema_name)


@cache
def _columns() -> Mapping[tuple[str, str], tuple[Column, ...]]:
    """Columns by group and plural name: all versions of a resource share them."""
    index: dict[tuple[str, str], tuple[Column, ...]] = {}
    for key, rows in builtin.load("tables").items():
        group, _, resource = key.split("/")
        index[group, resource] = tuple(Column(*each) for each in rows)
    return index


BUILTIN = BuiltinParts()
"""The one maker of these parts; it holds nothing."""
