"""Struct tags of Go source files: what ``generated.proto`` does not say about fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
SLICE = re.compile(r"^type (\w+) (\[\]\S+)$", re.MULTILINE)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?([^\s`]+)\s*`([^`]*)`", re.MULTILINE)
TAG = re.compile(r'(\w+):"([^"]*)"')


@dataclass(frozen=True)
class Field:
    """A tagged field of a struct.

    Attributes:
        go_type: its type as written.
        embedded: whether it has no name of its own.
        json_name: name in JSON; empty when none is given, ``-`` when it is not there.
        options: what stands after the name, such as ``omitempty``.
    """

    go_type: str
    embedded: bool
    json_name: str
    options: frozenset[str]

    def flags(self, *, repeated: bool) -> str:
        """How it is written: ``schemas/README.md`` explains the letters.

        Args:
            repeated: whether the protobuf field is repeated or a map.
        """
        if self.go_type == "[]byte":
            flags = "b"
        elif self.go_type.startswith("*"):
            flags = "p"
        elif self.go_type.startswith("[]*"):
            flags = "P"
        else:
            flags = "" if repeated else "v"
        for option, letter in (("inline", "i"), ("omitempty", "e"), ("omitzero", "z")):
            if option in self.options:
                flags += letter
        return flags + ("E" if self.embedded else "")


@dataclass(frozen=True)
class Package:
    """Types of a Go package.

    Attributes:
        structs: by type name, fields by protobuf number.
        slices: by type name, the type as written, such as ``[]string``.
    """

    structs: dict[str, dict[int, Field]]
    slices: dict[str, str]


def _fields(body: str) -> dict[int, Field]:
    fields: dict[int, Field] = {}
    for name, go_type, tags in FIELD.findall(body):
        values = dict(TAG.findall(tags))
        parts = values.get("protobuf", "-").split(",")
        if len(parts) > 1:
            json_name, *options = values.get("json", "").split(",")
            fields[int(parts[1])] = Field(go_type, not name, json_name, frozenset(options))
    return fields


def package(sources: Iterable[str]) -> Package:
    """The tagged structs and the named slices of a package.

    Args:
        sources: texts of its files.
    """
    structs: dict[str, dict[int, Field]] = {}
    slices: dict[str, str] = {}
    for text in sources:
        for name, body in STRUCT.findall(text):
            # A type may be written twice, for builds with and without a tag.
            structs[name] = _fields(body) or structs.get(name, {})
        slices |= dict(SLICE.findall(text))
    return Package(structs, slices)
