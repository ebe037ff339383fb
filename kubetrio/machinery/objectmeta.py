"""What ``metadata`` may say: validation on create and on update, generated names.

Paths, reasons, messages and their order are API.  Source: "Metadata" in the Kubernetes API
conventions, "Owners and Dependents", "Finalizers" and "Object Names and IDs" in the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubetrio.machinery.fielderrors import forbidden, invalid, quote, required, too_long
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.names_validation import (
    NameCheck,
    byte_length,
    dns1123_label,
    label_value,
    qualified_name,
)
from kubetrio.machinery.remember import remembered
from kubetrio.machinery.status import Cause
from kubetrio.machinery.timestamps import parse_time

GENERATE_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""What suffixes of generated names are made of: no vowels and nothing that looks like one."""
GENERATE_NAME_SUFFIX = 5
"""Characters in such a suffix."""
GENERATE_NAME_BASE_MAX = 58
"""Bytes of ``generateName`` that are used."""
ANNOTATIONS_MAX = 256 * 1024
"""Bytes of all annotation keys and values together."""
MANAGER_BYTES = 128
"""Bytes of the name of a field manager."""
SUBRESOURCE_BYTES = 256
"""Bytes of the subresource that an entry of ``managedFields`` names."""
_SHORT = MANAGER_BYTES // 4  # characters that are within either limit, whichever they are
IMMUTABLE = "field is immutable"
"""The detail of every change to a field that never changes."""

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})
_OWNER_MEMBERS = ("apiVersion", "kind", "name", "uid")
_OWNER_FLAGS = ("controller", "blockOwnerDeletion")
_OPERATIONS = ("Apply", "Update")
_IMMUTABLE_TEXTS = ("name", "namespace", "uid")
_IMMUTABLE_TIMES = ("creationTimestamp", "deletionTimestamp")

Meta = Mapping[str, Any]


def generate_name(base: str, suffix: str) -> str:
    """A name made from ``generateName``.

    Args:
        base: the prefix asked for; cut to 58 bytes.
        suffix: five random characters of :data:`GENERATE_NAME_ALPHABET`.
    """
    if byte_length(base) > GENERATE_NAME_BASE_MAX:
        base = base.encode("utf-8", "surrogatepass")[:GENERATE_NAME_BASE_MAX].decode(
            "utf-8", "replace"
        )
    return base + suffix


def validate_labels(labels: Mapping[str, str], path: str) -> list[Cause]:
    """Check labels.

    Args:
        labels: keys to values.
        path: path of the member that holds them.
    """
    causes: list[Cause] = []
    for key, value in labels.items():
        if _good_key(key) and _good_value(value):
            continue
        causes += [invalid(path, key, message) for message in qualified_name(key)]
        causes += [invalid(path, value, message) for message in label_value(value)]
    return causes


@remembered(4096, 320)
def _good_key(key: str) -> bool:
    """Whether a label key is good; the same few keys come all the time."""
    return not qualified_name(key)


@remembered(4096, 64)
def _good_value(value: str) -> bool:
    """Whether a label value is good."""
    return not label_value(value)


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[Cause]:
    """Check annotations: keys are label keys in any case, and all together have a limit.

    Args:
        annotations: keys to values.
        path: path of the member that holds them.
    """
    causes = []
    size = 0
    for key, value in annotations.items():
        if not _good_key(key.lower()):
            causes += [invalid(path, key, message) for message in qualified_name(key.lower())]
        size += byte_length(key) + byte_length(value)
    if size > ANNOTATIONS_MAX:
        causes.append(too_long(path, ANNOTATIONS_MAX))
    return causes


def _group_version(api_version: str) -> GroupVersion:
    """Group and version; both empty for a text that is neither."""
    if api_version in ("", "/"):
        return GroupVersion("", "")
    try:
        return GroupVersion.parse(api_version)
    except ValueError:
        return GroupVersion("", "")


def _printable_owner(reference: Meta) -> dict[str, Any]:
    out: dict[str, Any] = {name: reference.get(name) or "" for name in _OWNER_MEMBERS}
    out.update((name, reference[name]) for name in _OWNER_FLAGS if reference.get(name) is not None)
    return out


def _validate_owner(reference: Meta, path: str) -> list[Cause]:
    api_version, kind, name, uid = (reference.get(member) or "" for member in _OWNER_MEMBERS)
    causes = []
    group, version = _group_version(api_version)
    if not version:
        causes.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
    if not kind:
        causes.append(invalid(f"{path}.kind", "", "must not be empty"))
    if not name:
        causes.append(invalid(f"{path}.name", "", "must not be empty"))
    if not uid:
        causes.append(invalid(f"{path}.uid", "", "must not be empty"))
    if (group, version, kind) == ("", "v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        causes.append(invalid(path, _printable_owner(reference), detail))
    return causes


def validate_owner_references(references: Sequence[Meta], path: str) -> list[Cause]:
    """Check owner references: complete, no events, one controller at most.

    Args:
        references: the list.
        path: path of the list.
    """
    causes = []
    first = ""
    for reference in references:
        causes += _validate_owner(reference, path)
        if not reference.get("controller"):
            continue
        current = f"{reference.get('kind') or ''}/{reference.get('name') or ''}"
        if first:
            detail = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {first} and {current}'
            )
            causes.append(invalid(path, [_printable_owner(item) for item in references], detail))
        else:
            first = current
    return causes


def validate_finalizers(finalizers: Sequence[str], path: str) -> list[Cause]:
    """Check finalizers: label keys, and not both ways of deleting dependents.

    Args:
        finalizers: the list.
        path: path of the list.
    """
    causes = [
        invalid(path, finalizer, message)
        for finalizer in finalizers
        for message in qualified_name(finalizer)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        causes.append(invalid(path, list(finalizers), detail))
    return causes


def validate_field_manager(manager: str, path: str) -> list[Cause]:
    """Check the name of a field manager; lengths and positions are in bytes.

    Args:
        manager: the name.
        path: path of the member, or name of the option.
    """
    causes = []
    if byte_length(manager) > MANAGER_BYTES:
        causes.append(too_long(path, MANAGER_BYTES))
    if not manager.isprintable():
        position = 0
        for char in manager:
            if not char.isprintable():
                detail = f"invalid character U+{ord(char):04X} (at position {position})"
                causes.append(invalid(path, manager, detail))
            position += byte_length(char)
    return causes


def validate_managed_fields(entries: Iterable[Meta], path: str) -> list[Cause]:
    """Check entries of ``managedFields``.

    Args:
        entries: the list.
        path: path of the list.
    """
    causes: list[Cause] = []
    for index, entry in enumerate(entries):
        operation, manager = entry.get("operation") or "", entry.get("manager") or ""
        below = entry.get("subresource") or ""
        if (  # the usual entry
            operation in _OPERATIONS
            and entry.get("fieldsType") == "FieldsV1"
            and manager.isprintable()
            and len(manager) <= _SHORT
            and len(below) <= _SHORT
        ):
            continue
        where = f"{path}[{index}]"
        if operation not in _OPERATIONS:
            detail = "must be `Apply` or `Update`"
            causes.append(invalid(f"{where}.operation", operation, detail))
        form = entry.get("fieldsType") or ""
        if form not in ("", "FieldsV1"):
            causes.append(invalid(f"{where}.fieldsType", form, "must be `FieldsV1`"))
        causes += validate_field_manager(manager, f"{where}.manager")
        if byte_length(below) > SUBRESOURCE_BYTES:
            causes.append(too_long(f"{where}.subresource", SUBRESOURCE_BYTES))
    return causes


def _validate_unqualified_finalizers(finalizers: Iterable[str], path: str) -> list[Cause]:
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{path}[{index}]", finalizer, detail)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def validate_object_meta(
    meta: Meta,
    *,
    namespaced: bool,
    name_check: NameCheck,
    path: str = "metadata",
    standard_finalizers: bool = True,
) -> list[Cause]:
    """Check ``metadata`` of an object to be created, after its name was generated.

    Args:
        meta: the member.
        namespaced: whether objects of the kind live in a namespace.
        name_check: rule for names of the kind.
        path: path of the member.
        standard_finalizers: whether finalizers without a domain must be standard ones, as they
            must in most built-in kinds but not in custom ones.

    Returns:
        What is wrong, in kube-apiserver's order; empty when nothing is.
    """
    causes = validate_names(meta, name_check, path)
    causes += _validate_namespace(meta.get("namespace") or "", namespaced, f"{path}.namespace")
    generation = meta.get("generation") or 0
    if generation < 0:
        detail = "must be greater than or equal to 0"
        causes.append(invalid(f"{path}.generation", generation, detail))
    if labels := meta.get("labels"):
        causes += validate_labels(labels, f"{path}.labels")
    if annotations := meta.get("annotations"):
        causes += validate_annotations(annotations, f"{path}.annotations")
    if owners := meta.get("ownerReferences"):
        causes += validate_owner_references(owners, f"{path}.ownerReferences")
    if finalizers := meta.get("finalizers"):
        causes += validate_finalizers(finalizers, f"{path}.finalizers")
    if entries := meta.get("managedFields"):
        causes += validate_managed_fields(entries, f"{path}.managedFields")
    if finalizers and standard_finalizers:
        causes += _validate_unqualified_finalizers(finalizers, f"{path}.finalizers")
    return causes


def validate_names(meta: Meta, name_check: NameCheck, path: str = "metadata") -> list[Cause]:
    """Check the name of an object and what it was made from.

    Args:
        meta: the member.
        name_check: rule for names.
        path: path of the member.
    """
    causes: list[Cause] = []
    if base := meta.get("generateName"):
        causes += [invalid(f"{path}.generateName", base, text) for text in name_check(base, True)]
    if name := meta.get("name"):
        causes += [invalid(f"{path}.name", name, text) for text in name_check(name, False)]
    else:
        causes.append(required(f"{path}.name", "name or generateName is required"))
    return causes


def _validate_namespace(namespace: str, namespaced: bool, path: str) -> list[Cause]:
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path)]
    return [invalid(path, namespace, message) for message in dns1123_label(namespace)]


def validate_object_meta_update(
    new: Meta, old: Meta, *, path: str = "metadata", standard_finalizers: bool = True
) -> list[Cause]:
    """Check ``metadata`` of an object to be updated.

    Args:
        new: the member as it would be stored.
        old: the member as it is stored.
        path: path of the member.
        standard_finalizers: see :func:`validate_object_meta`.

    Returns:
        What is wrong, in kube-apiserver's order; empty when nothing is.
    """
    causes: list[Cause] = []
    finalizers = new.get("finalizers") or ()
    if old.get("deletionTimestamp"):
        causes += _validate_no_new_finalizers(
            finalizers, old.get("finalizers") or (), f"{path}.finalizers"
        )
    if not new.get("resourceVersion"):
        causes.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        causes.append(invalid(f"{path}.generation", generation, "must not be decremented"))
    for name in _IMMUTABLE_TEXTS:
        value = new.get(name) or ""
        if value != (old.get(name) or ""):
            causes.append(invalid(f"{path}.{name}", value, IMMUTABLE))
    for name in _IMMUTABLE_TIMES:
        value = new.get(name)
        if not _same_time(value, old.get(name)):
            causes.append(invalid(f"{path}.{name}", value, IMMUTABLE))
    grace = new.get("deletionGracePeriodSeconds")
    if grace != old.get("deletionGracePeriodSeconds"):
        causes.append(invalid(f"{path}.deletionGracePeriodSeconds", grace, IMMUTABLE))
    causes += validate_labels(new.get("labels") or {}, f"{path}.labels")
    causes += validate_annotations(new.get("annotations") or {}, f"{path}.annotations")
    causes += validate_owner_references(new.get("ownerReferences") or (), f"{path}.ownerReferences")
    causes += validate_finalizers(finalizers, f"{path}.finalizers")
    causes += validate_managed_fields(new.get("managedFields") or (), f"{path}.managedFields")
    if standard_finalizers:
        causes += _validate_unqualified_finalizers(finalizers, f"{path}.finalizers")
    return causes


_CHECKED_TWICE = ("labels", "annotations", "ownerReferences", "managedFields")


def repeated(
    causes: Iterable[Cause],
    checks: int,
    updates: int,
    *,
    updates_first: bool = False,
    names: tuple[Sequence[Cause], Sequence[Cause]] = ((), ()),
    path: str = "metadata",
) -> list[Cause]:
    """Causes of an update as often as kube-apiserver lists them, and in its order.

    It checks the metadata of an object and then that of a change once for every kind, and again as
    each kind likes; what is wrong stands in the details for each of these rounds.

    Args:
        causes: what :func:`validate_object_meta_update` found.
        checks: how often the kind itself checks the metadata of the object.
        updates: how often it checks that of the change.
        updates_first: whether it checks the change before the object.
        names: what is wrong with the names by the rule for every kind, and by the kind's own.
        path: path of the member.
    """
    both = tuple(f"{path}.{name}" for name in _CHECKED_TWICE)
    of_object: list[Cause] = []
    of_change: list[Cause] = []
    of_kind: list[Cause] = []
    for cause in causes:
        if cause.field.startswith(both):
            of_object.append(cause)
            of_change.append(cause)
        elif cause.field.startswith(f"{path}.finalizers["):
            of_kind.append(cause)
        elif cause.field == f"{path}.finalizers" and cause.reason != "FieldValueForbidden":
            of_object.append(cause)
        else:
            of_change.append(cause)
    own = [[*names[1], *of_object, *of_kind] * checks, (of_change + of_kind) * updates]
    if updates_first:
        own.reverse()
    return [*names[0], *of_object, *of_change, *own[0], *own[1]]


def missing_resource_version(path: str = "metadata") -> Cause:
    """The cause of an update without ``resourceVersion`` where the kind requires one.

    Args:
        path: path of ``metadata``.
    """
    return invalid(f"{path}.resourceVersion", 0, "must be specified for an update")


def _validate_no_new_finalizers(new: Iterable[str], old: Iterable[str], path: str) -> list[Cause]:
    extra = sorted(set(new).difference(old))
    if not extra:
        return []
    shown = ", ".join(map(quote, extra))
    detail = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{shown}}}"
    )
    return [forbidden(path, detail)]


def _same_time(one: str | None, two: str | None) -> bool:
    if one == two:
        return True
    return bool(one) and bool(two) and parse_time(one or "") == parse_time(two or "")
