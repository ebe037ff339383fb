"""Types that are protobuf messages to the engine: opaque values, and what the server declares.

The engine has no types of its own making: an opaque value (a quantity, an address) is a message
with one field that holds its text, normalised, so that equal values are equal messages.

Source: ``AdmissionRequest`` and ``Namespace`` as documented for admission policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from kubetrio.cel.declarations import OPAQUE

Types = Mapping[str, Mapping[str, str]]
"""Message name to its fields, each with a type as `_add_field` reads it."""

HIDDEN = "value__"  # no expression can be taken to mean it

_GVK = {"group": "string", "version": "string", "kind": "string"}
ADMISSION: Types = {
    "kubernetes.GroupVersionKind": _GVK,
    "kubernetes.GroupVersionResource": {
        "group": "string", "version": "string", "resource": "string",
    },
    "kubernetes.ExtraValue": {},
    "kubernetes.UserInfo": {
        "username": "string", "uid": "string", "groups": "list<string>", "extra": "map<dyn>",
    },
    "kubernetes.AdmissionRequest": {
        "kind": "kubernetes.GroupVersionKind",
        "resource": "kubernetes.GroupVersionResource",
        "subResource": "string",
        "requestKind": "kubernetes.GroupVersionKind",
        "requestResource": "kubernetes.GroupVersionResource",
        "requestSubResource": "string",
        "name": "string",
        "namespace": "string",
        "operation": "string",
        "userInfo": "kubernetes.UserInfo",
        "dryRun": "bool",
        "options": "dyn",
    },
    "kubernetes.SelectorRequirement": {
        "key": "string", "operator": "string", "values": "list<string>",
    },
    "kubernetes.FieldSelectorAttributes": {
        "rawSelector": "string", "requirements": "list<kubernetes.SelectorRequirement>",
    },
    "kubernetes.LabelSelectorAttributes": {
        "rawSelector": "string", "requirements": "list<kubernetes.SelectorRequirement>",
    },
    "kubernetes.ResourceAttributes": {
        **dict.fromkeys(
            ("namespace", "verb", "group", "version", "resource", "subresource", "name"), "string"
        ),
        "fieldSelector": "kubernetes.FieldSelectorAttributes",
        "labelSelector": "kubernetes.LabelSelectorAttributes",
    },
    "kubernetes.NonResourceAttributes": {"path": "string", "verb": "string"},
    "kubernetes.SubjectAccessReviewSpec": {
        "resourceAttributes": "kubernetes.ResourceAttributes",
        "nonResourceAttributes": "kubernetes.NonResourceAttributes",
        "user": "string", "groups": "list<string>", "extra": "map<dyn>", "uid": "string",
    },
    "kubernetes.NamespaceSpec": {"finalizers": "list<string>"},
    "kubernetes.NamespaceCondition": {
        "status": "string", "type": "string", "lastTransitionTime": "google.protobuf.Timestamp",
        "message": "string", "reason": "string",
    },
    "kubernetes.NamespaceStatus": {
        "conditions": "list<kubernetes.NamespaceCondition>", "phase": "string",
    },
    "kubernetes.NamespaceMetadata": {
        "name": "string",
        "generateName": "string",
        "namespace": "string",
        "labels": "map<string>",
        "annotations": "map<string>",
        "UID": "string",
        "creationTimestamp": "google.protobuf.Timestamp",
        "deletionGracePeriodSeconds": "int",
        "deletionTimestamp": "google.protobuf.Timestamp",
        "generation": "int",
        "resourceVersion": "string",
        "finalizers": "list<string>",
    },
    "kubernetes.Namespace": {
        "metadata": "kubernetes.NamespaceMetadata",
        "spec": "kubernetes.NamespaceSpec",
        "status": "kubernetes.NamespaceStatus",
    },
    "kubernetes.variables": {},
    "kubernetes.Device": {},
}  # fmt: skip
"""What expressions of admission see, and what only has to exist."""

_SCALARS = {"int": 3, "uint": 4, "double": 1, "bool": 8, "string": 9, "bytes": 12}
_STANDARD = (struct_pb2, timestamp_pb2, duration_pb2, wrappers_pb2, any_pb2, empty_pb2)


def _add_field(message: Any, full_name: str, name: str, kind: str) -> None:
    """Declare a field: a scalar, ``dyn``, a message, a list of those or a map from strings.

    Lists and maps in one another are nothing that a field can be: what is inside is ``dyn``.
    """
    field = message.field.add(name=name, number=len(message.field) + 1, label=1)
    if kind.startswith("map<"):
        inside = kind[len("map<") : -1].removeprefix("string,")
        # the name is prescribed: that of the field, with capitals instead of underscores
        words = "".join(f"{word[:1].upper()}{word[1:]}" for word in name.split("_"))
        entry = message.nested_type.add(name=f"{words}Entry")
        entry.options.map_entry = True
        _add_field(entry, "", "key", "string")
        _add_field(entry, "", "value", _simple(inside))
        field.label, field.type, field.type_name = 3, 11, f".{full_name}.{entry.name}"
        return
    if kind.startswith("list<"):
        field.label, kind = 3, _simple(kind[5:-1])
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = 11
        field.type_name = ".google.protobuf.Value" if kind == "dyn" else f".{kind}"


def _simple(kind: str) -> str:
    return "dyn" if "<" in kind else kind


def _file(package: str, earlier: Iterable[Any]) -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name=f"kubetrio/cel/{package or 'root'}.proto", package=package, syntax="proto3"
    )
    file.dependency.extend(module.DESCRIPTOR.name for module in _STANDARD)
    file.dependency.extend(other.name for other in earlier)
    return file


def pool_with(types: Types) -> Any:
    """A pool of descriptors with the standard messages, the opaque ones and others.

    Args:
        types: the others; a name may nest (``Object.spec``).
    """
    pool = descriptor_pool.DescriptorPool()
    for module in _STANDARD:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    every = {**{name: {HIDDEN: "string"} for name in OPAQUE}, **types}
    files: dict[str, Any] = {}
    made: dict[str, Any] = {}
    for full_name in sorted(every):
        parent, _, name = full_name.rpartition(".")
        if parent in made:
            message = made[full_name] = made[parent].nested_type.add(name=name)
        else:
            if parent not in files:
                files[parent] = _file(parent, files.values())
            message = made[full_name] = files[parent].message_type.add(name=name)
        for field, kind in every[full_name].items():
            _add_field(message, full_name, field, kind)
    for file in files.values():
        pool.Add(file)
    return pool


@cache
def base_pool() -> Any:
    """The pool of everything that admission knows."""
    return pool_with(ADMISSION)


@cache
def _class(name: str) -> Any:
    return message_factory.GetMessageClass(base_pool().FindMessageTypeByName(name))


def opaque(name: str, value: str) -> Any:
    """An opaque value.

    Args:
        name: its type.
        value: its text, equal for equal values.
    """
    return _class(name)(**{HIDDEN: value})


def value_of(message: Any) -> str:
    """The text of an opaque value."""
    found: str = getattr(message, HIDDEN)
    return found


def type_of(message: Any) -> str:
    """The type of an opaque value."""
    name: str = message.DESCRIPTOR.full_name
    return name


# --- values of the language that the engine takes, within maps and lists, as messages only ---


def timestamp(seconds: int, nanoseconds: int) -> Any:
    """A moment, counted from 1970."""
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=nanoseconds)


def duration(nanoseconds: int) -> Any:
    """A span of time."""
    sign = -1 if nanoseconds < 0 else 1
    seconds, rest = divmod(abs(nanoseconds), 1_000_000_000)
    return duration_pb2.Duration(seconds=sign * seconds, nanos=sign * rest)


def octets(value: bytes) -> Any:
    """Bytes: plain ones are taken, but cut at a NUL."""
    return wrappers_pb2.BytesValue(value=value)
