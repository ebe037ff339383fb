"""What is wrong with an object, by the rules of its kind: what a schema cannot say, and metadata.

Objects are decoded and defaulted.  kube-apiserver checks metadata once for every kind, and most
kinds check it again; what is wrong stands in the details for each of these rounds.

Source: "Object Names and IDs" and "Finalizers" in the documentation; the number of rounds is what a
kube-apiserver 1.36 was seen to list, kind by kind.
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.names_validation import (
    NAME_CHECKS,
    NameCheck,
    any_name,
    long_name,
    path_segment,
)
from kubetrio.machinery.objectmeta import (
    repeated,
    validate_names,
    validate_object_meta,
    validate_object_meta_update,
)
from kubetrio.machinery.status import Cause
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import SUBRESOURCE, Validation

Json = dict[str, Any]

_LOOSE = (any_name, long_name)
"""Checks that let names or prefixes pass that do not fit into a path."""

_BY_POLICY = "disallowed by cluster policy"


def _adapted(rules: Validation, kind: Kind, obj: Json) -> Json:
    adapt = rules.adapt.get(kind.version)
    return obj if adapt is None else adapt(obj)


def _permitted(causes: list[Cause], allow_privileged: bool) -> list[Cause]:
    if not causes or not allow_privileged:
        return causes
    return [cause for cause in causes if not cause.message.endswith(_BY_POLICY)]


def validate_create(kind: Kind, obj: Json, *, allow_privileged: bool = False) -> list[Cause]:
    """Check an object to be created.

    Args:
        kind: the kind in the version the object is written in.
        obj: the object, decoded and defaulted.
        allow_privileged: whether containers may be privileged (``--allow-privileged``).

    Returns:
        What is wrong with everything but its metadata; empty when nothing is.
    """
    rules = kind.rules.validation
    causes: list[Cause] = []
    if rules.create is not None:
        rules.create(_adapted(rules, kind, obj), "", causes)
    return _permitted(causes, allow_privileged)


def validate_update(
    kind: Kind,
    new: Json,
    old: Json,
    subresource: str = "",
    *,
    allow_privileged: bool = False,
) -> list[Cause]:
    """Check an object to be updated.

    Args:
        kind: the kind in the version both objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored.
        subresource: where it is written, empty for the object itself.
        allow_privileged: whether containers may be privileged (``--allow-privileged``).

    Returns:
        What is wrong with everything but its metadata; empty when nothing is.
    """
    rules = kind.rules.validation
    new, old = _adapted(rules, kind, new), _adapted(rules, kind, old)
    causes: list[Cause] = []
    if subresource:
        check = rules.subresources.get(subresource)
        if check is not None:
            check(new, old, causes)
        return _permitted(causes, allow_privileged)
    if rules.update is not None and rules.checked_last:
        rules.update(new, old, causes)
    if rules.create is not None and rules.revalidate:
        rules.create(new, "", causes)
    if rules.update is not None and not rules.checked_last:
        rules.update(new, old, causes)
    return _permitted(causes, allow_privileged)


def warnings(kind: Kind, new: Json, old: Json | None, subresource: str = "") -> list[str]:
    """Texts for ``Warning`` headers of a successful or failed write.

    Args:
        kind: the kind in the version the objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored; None for a create.
        subresource: where it is written, empty for the object itself.
    """
    rules = kind.rules.validation
    if subresource:
        advise = rules.status_warnings if subresource == "status" else None
        return [] if advise is None else advise(new)
    return [] if rules.warnings is None else rules.warnings(new, old)


def _name_check(kind: Kind, obj: Json) -> NameCheck:
    name = kind.rules.metadata.name
    return name(obj) if name else NAME_CHECKS[kind.strategy.name_rule]


def with_metadata_of_new(kind: Kind, obj: Json, causes: list[Cause]) -> list[Cause]:
    """All that is wrong with an object to be created.

    Args:
        kind: the kind in the version the object is written in.
        obj: the object, its name generated.
        causes: what is wrong with everything but its metadata.
    """
    rules, meta = kind.rules.metadata, obj["metadata"]
    if rules.created:
        check = _name_check(kind, obj)
        own = validate_object_meta(
            meta,
            namespaced=kind.namespaced,
            name_check=check,
            standard_finalizers=rules.standard_finalizers,
        )
        causes = own + causes
        if check not in _LOOSE:
            return causes
    if causes:
        return causes
    return validate_object_meta(
        meta, namespaced=kind.namespaced, name_check=path_segment, standard_finalizers=False
    )


def metadata_of_change(kind: Kind, new: Json, old: Json, subresource: str = "") -> list[Cause]:
    """What is wrong with the metadata of an update, for each time that it is checked.

    Args:
        kind: the kind in the version both objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored.
        subresource: where it is written, empty for the object itself.
    """
    rules, meta = kind.rules.metadata, new["metadata"]
    rounds = rules.subresources.get(subresource, SUBRESOURCE) if subresource else rules.updated
    causes = validate_object_meta_update(
        meta, old["metadata"], standard_finalizers=rules.standard_finalizers
    )
    common: list[Cause] = []
    own: list[Cause] = []
    # Any name that is stored is a segment of a path.
    if rules.name is not None or "generateName" in meta:
        common = validate_names(meta, path_segment)
        own = validate_names(meta, _name_check(kind, new)) if rounds[0] else []
    if not causes and not common and not own:
        return causes
    return repeated(causes, *rounds, updates_first=rules.change_first, names=(common, own))
