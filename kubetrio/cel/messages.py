"""Types that are protobuf messages to the engine: opaque values, and what the server declares.

The engine has no types of its own making: an opaque value (a quantity, an address) is a message
with one field that holds its text, normalised, so that equal values are equal messages.

Source: ``AdmissionRequest`` and ``Namespace`` as documented for admission policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
_RESERVED_NUMBERS = range(19_000, 20_000)  # of fields, by protobuf itself
_MOST_FIELDS = 65_535


def _entry_name(field: str) -> str:
    """The name that protobuf prescribes for the entries of a map.

    Two members (``nestBox`` and ``nest_box``) can have one such name, and a member can be called
    like the entries of another.
    """
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in field.split("_")) + "Entry"


def _add_field(message: Any, full_name: str, name: str, kind: str, taken: set[str]) -> None:
    """Declare a field: a scalar, ``dyn``, a message, a list of those or a map from strings.

    Args:
        message: the descriptor of the message; changed.
        full_name: of the message.
        name: of the field.
        kind: its type.
        taken: names that entries of maps cannot have; changed.  A map without entries of its own
            is one of any values.

    Lists and maps in one another are nothing that a field can be: what is inside is ``dyn``.
    A field beyond the most that a message can have is left out, and so cannot be named.
    """
    number = len(message.field) + 1
    if number > _MOST_FIELDS:
        return
    if number >= _RESERVED_NUMBERS.start:
        number += len(_RESERVED_NUMBERS)
    field = message.field.add(name=name, number=number, label=1)
    if kind.startswith("map<"):
        inside = kind[len("map<") : -1].removeprefix("string,")
        entry_name = _entry_name(name)
        if entry_name in taken:
            field.type, field.type_name = 11, ".google.protobuf.Struct"
            return
        taken.add(entry_name)
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        _add_field(entry, "", "key", "string", set())
        _add_field(entry, "", "value", _simple(inside), set())
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


def _files(types: Types) -> list[Any]:
    """Descriptors of the opaque messages and of others, those first that others depend on."""
    every = {**{name: {HIDDEN: "string"} for name in OPAQUE}, **types}
    files: dict[str, Any] = {}
    by_name: dict[str, Any] = {}
    for full_name in sorted(every):
        parent, _, name = full_name.rpartition(".")
        if parent in by_name:
            message = by_name[full_name] = by_name[parent].nested_type.add(name=name)
        else:
            if parent not in files:
                files[parent] = _file(parent, files.values())
            message = by_name[full_name] = files[parent].message_type.add(name=name)
        # No message here is written as JSON, so two fields may well have one name there.
        message.options.deprecated_legacy_json_field_conflicts = True
        taken = set(every[full_name])
        for field, kind in every[full_name].items():
            _add_field(message, full_name, field, kind, taken)
    return list(files.values())


@dataclass(frozen=True, slots=True)
class _Serialized:
    """A file of descriptors as the engine reads it.

    Args:
        serialized_pb: a ``FileDescriptorProto``.
    """

    serialized_pb: bytes


class Descriptors:
    """The standard messages, the opaque ones and others, for the type checker.

    The engine asks a pool for files alone, and this is what it asks.  Python's own pool lays out
    each message as well, which costs as much again and has limits: 64 KiB for one message.

    Args:
        types: the others; a name may nest (``Object.spec``).
    """

    def __init__(self, types: Types) -> None:
        self._files: dict[str, _Serialized] = {}
        self._symbols: dict[str, _Serialized] = {}
        for module in _STANDARD:
            file = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
            self._add(file, f"{file.package}.")
        for file in _files(types):
            self._add(file, f"{file.package}." if file.package else "")

    def _add(self, file: Any, prefix: str) -> None:
        serialized = self._files[file.name] = _Serialized(file.SerializeToString())
        for symbol in (*file.message_type, *file.enum_type):
            self._symbols[prefix + symbol.name] = serialized

    def FindFileByName(self, name: str) -> _Serialized:  # noqa: N802  (protobuf's name)
        """The file of a name.

        Raises:
            KeyError: there is none.
        """
        return self._files[name]

    def FindFileContainingSymbol(self, symbol: str) -> _Serialized:  # noqa: N802  (protobuf's name)
        """The file with a message, an enumeration, or something in one.

        Raises:
            KeyError: there is none.
        """
        name = symbol
        while name not in self._symbols:
            name = name.rpartition(".")[0]
            if not name:
                raise KeyError(symbol)
        return self._symbols[name]


@cache
def base_pool() -> Any:
    """The pool of everything that admission knows; its messages can be made."""
    pool = descriptor_pool.DescriptorPool()
    for module in _STANDARD:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for file in _files(ADMISSION):
        pool.Add(file)
    return pool


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
    value: str = getattr(message, HIDDEN)
    return value


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
