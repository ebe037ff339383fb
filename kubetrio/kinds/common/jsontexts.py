"""Annotations that hold JSON, as Go's ``encoding/json`` reads them into structs.

The structs have no names for JSON: members are found by the Go name in any case, and members of
other names are skipped.  Of values that do not fit, the first is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.kinds.common.checks import Json
from kubetrio.wire.gojson import Float, parse, type_word


@dataclass(frozen=True, slots=True)
class GoStruct:
    """A struct of Go.

    Args:
        package: package of the type.
        name: name of the type.
        members: Go names of members to their Go types; ``int64`` is a number, all others are texts.
    """

    package: str
    name: str
    members: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.package}.{self.name}"


TAINT = GoStruct(
    "core", "Taint", {"Key": "string", "Value": "string", "Effect": "core.TaintEffect"}
)
"""What the annotation of a node had before nodes had taints."""
TOLERATION = GoStruct(
    "core",
    "Toleration",
    {
        "Key": "string",
        "Operator": "core.TolerationOperator",
        "Value": "string",
        "Effect": "core.TaintEffect",
        "TolerationSeconds": "int64",
    },
)
"""What the annotation of a pod had before pods had tolerations."""
AVOID_PODS = GoStruct("v1", "AvoidPods", {})
"""What the annotation of a node has that wants fewer pods."""


def _wrong(value: Any, where: str, go_type: str) -> str:
    word = type_word(value)
    if word == "number" and go_type == "int64":
        word = f"number {value.text if isinstance(value, Float) else value}"
    return f"json: cannot unmarshal {word} into Go {where} of type {go_type}"


def _fits(value: Any, go_type: str) -> bool:
    if go_type == "int64":
        return type(value) is int and is_int64(value)
    return isinstance(value, str)


def _read(value: Any, struct: GoStruct, wrong: list[str]) -> Json:
    if not isinstance(value, dict):
        if value is not None:
            wrong.append(_wrong(value, "value", str(struct)))
        return {}
    names = {name.casefold(): name for name in struct.members}
    out: Json = {}
    for key, item in value.items():
        name = names.get(key.casefold())
        if name is None or item is None:
            continue
        if _fits(item, struct.members[name]):
            out[name[0].lower() + name[1:]] = item
        else:
            where = f"struct field {struct.name}.{name}"
            wrong.append(_wrong(item, where, struct.members[name]))
    return out


def read_struct(text: str, struct: GoStruct) -> Json:
    """The struct that a text holds, by the names of the API; null is an empty one.

    Args:
        text: JSON.
        struct: what is expected.

    Raises:
        ValueError: the text is no JSON, or something else; Go's message.
    """
    wrong: list[str] = []
    result = _read(parse(text.encode()).value, struct, wrong)
    if wrong:
        raise ValueError(wrong[0])
    return result


def read_structs(text: str, struct: GoStruct) -> list[Json]:
    """The list of structs that a text holds, by the names of the API; null is an empty one.

    Args:
        text: JSON.
        struct: what the items are.

    Raises:
        ValueError: the text is no JSON, or something else; Go's message.
    """
    value = parse(text.encode()).value
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(_wrong(value, "value", f"[]{struct}"))
    wrong: list[str] = []
    results = [_read(item, struct, wrong) for item in value]
    if wrong:
        raise ValueError(wrong[0])
    return results
