"""OpenAPI documents as protobuf: what both versions of the form have in common.

Messages are those of gnostic: a member of a JSON object is a field, a map is a message of name and
value pairs, a value of any type is YAML text.  What the messages are is data of each version.
Source: https://github.com/google/gnostic
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

import orjson

from kubetrio.schema.steps import Steps, finish
from kubetrio.wire import jsonwire
from kubetrio.wire.protovalues import varint
from kubetrio.wire.protowire import delimited

Json = dict[str, Any]
Fields = Mapping[str, tuple[int, str]]
"""Number and kind by member. A kind is a scalar or a message; in brackets it is repeated, and
``present`` before a scalar says that it is written when it is zero too."""

EXTENSION: Final = "x-"
"""Every member that begins so is an extension, under this name in the tables."""
STEP: Final = 2
"""Entries of a large map that are encoded at a time."""

_VARINT, _FIXED64 = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The messages of a version of OpenAPI; ``Document`` is the whole.

    Args:
        members: messages that are JSON objects with members of their own.
        maps: messages that are JSON objects of any names: numbers of the pairs and of extensions
            (0: none that are apart), and between them the kind of the values.
        lists: messages that are a JSON array, or one item of it: its kind; the number is 1.
        choices: messages that are one of several: the field a value goes to.
        large: messages that are encoded in steps.
    """

    members: Mapping[str, Fields]
    maps: Mapping[str, tuple[int, str, int]]
    lists: Mapping[str, str]
    choices: Mapping[str, Callable[[Any], tuple[int, str]]]
    large: frozenset[str]

    def encode(self, document: Json) -> bytes:
        """The bytes of a document; members that the form does not have are left out.

        Args:
            document: the document as JSON.
        """
        return finish(self.steps(document))

    def steps(self, document: Json) -> Steps[bytes]:
        """``encode`` a little at a time, for a caller that does other work in between.

        Args:
            document: the document as JSON.
        """
        return self._large("Document", document)

    def _large(self, name: str, value: Json) -> Steps[bytes]:
        """The bytes of a message, in steps."""
        if name in self.maps:
            parts: list[bytes] = []
            entries = list(value.items())
            for start in range(0, len(entries), STEP):
                parts.append(self._map(name, dict(entries[start : start + STEP])))
                yield
            whole = b"".join(parts)
            yield  # many megabytes may have been copied, and are again
            return whole
        fields: list[tuple[int, bytes]] = []
        for member, content in value.items():
            number, kind = self.members[name].get(member, (0, ""))
            if kind in self.large:
                body = yield from self._large(kind, content)
                yield
                fields.append((number, delimited(number, body)))
            else:
                fields.extend(self._members(name, {member: content}))
        return _ordered(fields)

    def _members(self, name: str, value: Json) -> Iterable[tuple[int, bytes]]:
        """Fields of a message that has members, each with its number."""
        known = self.members[name]
        for member, content in value.items():
            if member in known:
                number, kind = known[member]
                yield number, self._field(number, kind, content)
            elif member.startswith(EXTENSION) and EXTENSION in known:
                number = known[EXTENSION][0]
                yield number, self._pair(number, member, "Any", content)

    def _message(self, name: str, value: Any) -> bytes:
        """The bytes of a message, without key and length."""
        if name in self.members:
            return _ordered(self._members(name, value))
        if name in self.choices:
            number, kind = self.choices[name](value)
            return self._field(number, kind, value) if number else b""
        if name in self.maps:
            return self._map(name, value)
        if name in self.lists:
            items = value if isinstance(value, list) else [value]
            return self._field(1, f"[{self.lists[name]}]", items)
        return delimited(2, _yaml(jsonwire.encode(value)))  # Any

    def _map(self, name: str, value: Json) -> bytes:
        pairs, kind, extensions = self.maps[name]
        return b"".join(
            self._pair(extensions, key, "Any", item)
            if extensions and key.startswith(EXTENSION)
            else self._pair(pairs, key, kind, item)
            for key, item in value.items()
        )

    def _pair(self, number: int, name: str, kind: str, value: Any) -> bytes:
        """A field that is a message of a name and a value."""
        return delimited(number, delimited(1, name.encode()) + self._field(2, kind, value))

    def _field(self, number: int, kind: str, value: Any) -> bytes:
        """A field with its key; nothing for a scalar that is zero."""
        if kind[0] == "[":
            return b"".join(self._item(number, kind[1:-1], item) for item in value)
        if not value and kind in ("string", "bool", "int", "double"):
            return b""
        return self._item(number, kind.removeprefix("present "), value)

    def _item(self, number: int, kind: str, value: Any) -> bytes:
        if kind == "string":
            return delimited(number, value.encode())
        if kind in ("bool", "int"):
            return varint(number << 3 | _VARINT) + varint(int(value))
        if kind == "double":
            return varint(number << 3 | _FIXED64) + struct.pack("<d", value)
        return delimited(number, self._message(kind, value))


def numbered(common: Mapping[str, str], *members: str, **kinds: str) -> dict[str, tuple[int, str]]:
    """Members in order of their numbers, from 1; strings unless a kind is given.

    Args:
        common: kinds that a member has wherever it is not said otherwise.
        members: names.
        kinds: kinds by name.
    """
    return {
        member: (number, kinds.get(member, common.get(member, "string")))
        for number, member in enumerate(members, 1)
    }


def shared(common: Mapping[str, str]) -> dict[str, Fields]:
    """Messages that are the same in both versions.

    Args:
        common: kinds that a member has wherever it is not said otherwise.
    """
    rows = {
        "Contact": ("name", "url", "email"),
        "License": ("name", "url"),
        "Tag": ("name", "description", "externalDocs"),
        "ExternalDocs": ("description", "url"),
        "Xml": ("name", "namespace", "prefix", "attribute", "wrapped"),
    }
    return {name: numbered(common, *members, EXTENSION) for name, members in rows.items()}


def _ordered(fields: Iterable[tuple[int, bytes]]) -> bytes:
    """Fields in order of their numbers, those of one number as they come."""
    return b"".join(part for _, part in sorted(fields, key=itemgetter(0)))


@lru_cache(256)
def _yaml(data: bytes) -> bytes:
    """JSON as the YAML text of a value of any type; members stay in their order."""
    return "".join(f"{line}\n" for line in _lines(orjson.loads(data))).encode()


def _lines(value: Any) -> list[str]:
    """A value in the block style of YAML."""
    from kubetrio.wire import yamlwire

    if isinstance(value, dict) and value:
        result = []
        for key, item in value.items():
            lines = _lines(item)
            if isinstance(item, dict | list) and item:
                result += [f"{key}:", *(f"  {line}" for line in lines)]
            else:
                result.append(f"{key}: {lines[0]}")
        return result
    if isinstance(value, list) and value:
        return [
            f"{'  ' if at else '- '}{line}"
            for item in value
            for at, line in enumerate(_lines(item))
        ]
    return [yamlwire.encode(value).decode().removesuffix("\n")]
