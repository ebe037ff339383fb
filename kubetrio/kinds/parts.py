"""The parts of built-in kinds: facts of ``schemas/`` and what the folder of their group says.

``kinds.py`` of a folder has a value for each kind of the group (`BuiltinKind`).  What such a value
names is loaded when it is first needed: checks with the first write of a kind, printers with the
first table, conversions with the first object in another version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from kubetrio.kinds.common.builtinkind import UNPRINTED, BuiltinKind, MissingPart, resolved
from kubetrio.kinds.common.writerules import rules_of
from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.schema import builtin
from kubetrio.schema.fieldselectors import FieldSelectors
from kubetrio.schema.kind import Conversion, Kind, Strategy, WaitingConvert
from kubetrio.schema.objecttype import BuiltinType, ObjectType
from kubetrio.schema.printing import DEFAULT_COLUMNS, Column, Printer
from kubetrio.schema.rules import WriteStrategy


def folder(group: str) -> str:
    """Name of the folder in which an API group's kinds are: the first label of its name."""
    return group.partition(".")[0] or "core"


@cache
def kinds_of(group: str) -> Mapping[str, BuiltinKind]:
    """What is said by hand of the kinds of a group, by plural name.

    Raises:
        MissingPart: the group has no folder.
    """
    path = f"{__package__}.{folder(group)}.kinds"
    try:
        kinds: Mapping[str, BuiltinKind] = import_module(path).KINDS
    except ModuleNotFoundError as error:
        if not f"{path}.".startswith(f"{error.name}."):
            raise
        raise MissingPart(f"{path}: there is no such module for the group {group!r}") from error
    return kinds


def said_of(kind: Kind) -> BuiltinKind:
    """What is said by hand of a kind.

    Raises:
        MissingPart: nothing is.
    """
    value = kinds_of(kind.group).get(kind.resource)
    if value is None:
        path = f"{__package__}.{folder(kind.group)}.kinds"
        raise MissingPart(f"{path} says nothing of {kind.resource}")
    return resolved(value)


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
        strategy_facts = builtin.load("strategies").get(kind.kind.lower(), {})
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
            create_on_update=strategy_facts.get("createOnUpdate", False),
            unconditional_update=strategy_facts.get("unconditionalUpdate", True),
            returns_deleted=(deletion[1] != "Status" and deletion[2] is False)
            or traits.get("returnsDeleted", False),
            generation=generation,
            generation_counts=traits.get("generationCounts", generation),
            generation_exact=strategy_facts.get("exactGeneration", False),
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

    def migrate_stored(self, _: Kind) -> WaitingConvert | None:
        """See `Parts`: what is stored is what would be written today."""
        return None

    def rules(self, kind: Kind) -> WriteStrategy:
        """See `Parts`."""
        value = said_of(kind)
        defaults = value.defaults.get(kind.version)
        return rules_of(
            kind, resolved(value.rules), None if defaults is None else resolved(defaults)
        )

    def printer(self, kind: Kind) -> Printer:
        """See `Parts`."""
        words = builtin.load("columns")
        known = {**words["*"], **words.get(f"{kind.group}/{kind.resource}", {})}
        functions = said_of(kind).printer
        row = UNPRINTED if functions is None else resolved(functions)
        facts = columns_of().get((kind.group, kind.resource), DEFAULT_COLUMNS)
        columns = row.columns or facts
        if (functions is None) is not (columns == DEFAULT_COLUMNS):
            what = "columns, but no printer" if functions is None else "a printer, but no columns"
            raise MissingPart(f"{kind.group}/{kind.resource} has {what} (schemas/tables.json)")
        return Printer(
            columns=tuple(
                replace(column, description=known.get(column.name, "")) for column in columns
            ),
            default=columns == DEFAULT_COLUMNS,
            cells=row.cells,
            conditions=row.conditions,
            sort_key=row.sort_key,
            hidden=kind.type.held.annotation if kind.type.held else "",
        )

    def object_type(self, kind: Kind) -> ObjectType:
        """See `Parts`."""
        if not kind.schema_name:
            raise MissingPart(f"{kind.api_version} {kind.kind} has no type in schemas/kinds.json")
        as_json = traits_of(kind.group, kind.resource).get("storedAsJson", False)
        return BuiltinType(kind.schema_name, as_json=as_json)

    def conversion(self, kind: Kind) -> Conversion:
        """See `Parts`."""
        functions = said_of(kind).conversions.get(kind.version)
        if functions is None:
            raise MissingPart(f"{kind.api_version} {kind.kind} has no conversion")
        return resolved(functions)

    def selectors(self, kind: Kind) -> FieldSelectors:
        """See `Parts`."""
        functions = resolved(said_of(kind).selectors)
        key = f"{kind.group}/{kind.version}/{kind.resource}"
        supported = builtin.load("field-selectors").get(key, FieldSelectors().supported)
        return replace(functions, supported=tuple(supported))


@cache
def columns_of() -> Mapping[tuple[str, str], tuple[Column, ...]]:
    """Columns by group and plural name: all versions of a resource share them."""
    index: dict[tuple[str, str], tuple[Column, ...]] = {}
    for key, rows in builtin.load("tables").items():
        group, _, resource = key.split("/")
        index[group, resource] = tuple(Column(*each) for each in rows)
    return index


BUILTIN = BuiltinParts()
"""The one maker of these parts; it holds nothing."""
