"""What a group's folder says of a kind, and the rules that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson

from kubetrio.kinds.common.defaulters import compile_rules
from kubetrio.kinds.common.defaulting import Rules as Defaults
from kubetrio.kinds.common.features import Fields, dropping, off_in_pods
from kubetrio.machinery.ownership import FieldFilter, excluding
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import (
    NO_CHECKS,
    USUAL,
    Change,
    Context,
    Create,
    Json,
    LookUp,
    Marked,
    MetadataChecks,
    RightsCheck,
    Update,
    Validation,
    WriteStrategy,
    unchanged_object,
)

METADATA, SPEC, STATUS = ("f:metadata",), ("f:spec",), ("f:status",)
"""Members of an object as paths of owned fields."""
ALL_BUT_STATUS = excluding(STATUS)
ALL_BUT_SPEC = excluding(SPEC)
STATUS_ONLY = excluding(METADATA, SPEC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRules:
    """What is said of a built-in kind.

    Args:
        validation: its checks.
        metadata: its checks of metadata.
        create: what it does to a new object, beside resetting the status.
        update: what it does to an object that replaces another.
        finish: what a new object gets when it is stored, which nothing judges.
        status_given: whether the status is taken from the client that creates the object.
        undo_status_metadata: for kinds for which writes of the status cannot change metadata: what
            undoes the change, from (new object, old one).
        look_up: what is checked of other objects.
        rights: which rights parts of it need beside the verb.
        pod_spec: dotted path of the pod spec that it holds, or empty.
        off: fields of features that are off, see ``features``.
        off_below: whether subresources drop them too.
        marked: what the first deletion makes of an object that always waits then.
        keep: by subresource, which of the written fields can be owned, where that differs from
            the rule: everything but the status, and of a status everything but the spec.
    """

    validation: Validation = NO_CHECKS
    metadata: MetadataChecks = USUAL
    create: Create | None = None
    update: Update | None = None
    finish: Change | None = None
    status_given: bool = False
    undo_status_metadata: Callable[[Json, Json], None] | None = None
    look_up: LookUp | None = None
    rights: RightsCheck | None = None
    pod_spec: str = ""
    off: tuple[Fields, ...] = ()
    off_below: bool = False
    marked: Marked | None = None
    keep: Mapping[str, FieldFilter] = field(default_factory=dict)


def rules_of(kind: Kind, row: WriteRules, defaults: Defaults | None) -> WriteStrategy:
    """The rules of a built-in kind.

    Args:
        kind: in the version that the defaults are of.
        row: what its folder says.
        defaults: its table of defaults, None where it has none.
    """
    return WriteStrategy(
        default=_default(kind, defaults),
        prepare_create=_creating(kind, row),
        prepare_update=_updating(row),
        finish=row.finish,
        validation=row.validation,
        metadata=row.metadata,
        keep=_keep(kind, row),
        look_up=row.look_up,
        rights=row.rights,
        pod_spec=row.pod_spec,
        marked=row.marked,
    )


def _default(kind: Kind, defaults: Defaults | None) -> Change:
    return unchanged_object if defaults is None else compile_rules(kind.schema_name, defaults)


def _keep(kind: Kind, row: WriteRules) -> Mapping[str, FieldFilter]:
    """A status is not written through the object, and through its path little but the status."""
    usual: dict[str, FieldFilter] = {}
    if "status" in kind.subresources:
        usual = dict.fromkeys(("", *kind.subresources), ALL_BUT_STATUS)
        usual["status"] = ALL_BUT_SPEC
    return {**usual, **row.keep}


def _creating(kind: Kind, row: WriteRules) -> Create:
    resets = "status" in kind.subresources and bool(kind.schema_name) and not row.status_given
    zero = orjson.dumps(kind.type.zero["status"]) if "status" in kind.type.zero else b""
    drop = dropping((*row.off, *off_in_pods(row.pod_spec)))
    own = row.create

    def prepare(obj: Json, context: Context) -> None:
        if resets:
            if zero:
                obj["status"] = orjson.loads(zero)
            else:
                obj.pop("status", None)
        if drop is not None:
            drop(obj, None)
        if own is not None:
            own(obj, context)

    return prepare


def _updating(row: WriteRules) -> Update:
    drop = dropping((*row.off, *off_in_pods(row.pod_spec)))
    own, undo, below = row.update, row.undo_status_metadata, row.off_below

    def prepare(new: Json, old: Json, context: Context, subresource: str) -> None:
        if undo is not None and subresource == "status":
            undo(new, old)
        if drop is not None and (below or not subresource):
            drop(new, old)
        if own is not None:
            own(new, old, context, subresource)

    return prepare
