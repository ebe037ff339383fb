"""Swagger documents of several servers as one.

Of another server's document only the paths of its own version count, and the definitions that
these need.  A definition that means something else here gets another name.

Source: k8s.io/kube-openapi/pkg/aggregator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubetrio.schema.steps import Steps

Json = dict[str, Any]

DEFINITIONS: Final = "#/definitions/"
PARAMETERS: Final = "#/parameters/"
KINDS: Final = "x-kubernetes-group-version-kind"
ENTRIES: Final = 32
"""Definitions or paths that are worked on in a step."""
_WORDS: Final = frozenset({"description", KINDS})
_MAPS: Final = ("paths", "definitions", "parameters")


def part_of(document: object, prefix: str) -> Json:
    """The paths of a document below a prefix, and what they refer to.

    Args:
        document: Swagger of another server; anything.
        prefix: of paths, ending with a slash.

    Raises:
        ValueError: it is no such document.
    """
    if not isinstance(document, dict):
        raise ValueError("the document is no object")
    maps = [document.get(name) or {} for name in _MAPS]
    for one in maps:
        if not isinstance(one, dict) or not all(isinstance(item, dict) for item in one.values()):
            raise ValueError("the document is not Swagger")
    paths, definitions, parameters = maps
    part: Json = {
        "paths": {path: item for path, item in paths.items() if path.startswith(prefix)},
        "definitions": {},
        "parameters": {},
    }
    waiting: list[object] = [part["paths"]]
    while waiting:
        for reference in references(waiting.pop()):
            for start, there, here in (
                (DEFINITIONS, definitions, part["definitions"]),
                (PARAMETERS, parameters, part["parameters"]),
            ):
                name = reference.removeprefix(start)
                if name != reference and name in there and name not in here:
                    here[name] = there[name]
                    waiting.append(there[name])
    return part


def references(value: object) -> Iterator[str]:
    """All references in a value, however deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def merged_steps(document: Json, part: Json) -> Steps[None]:
    """Put a part of another document into one, in steps.

    Paths that are there already stay as they are.

    Args:
        document: Swagger; it is changed.
        part: see `part_of`; it stays as it is.
    """
    renamed: dict[str, str] = {}
    for name, start in (("definitions", DEFINITIONS), ("parameters", PARAMETERS)):
        here, there = document.setdefault(name, {}), part[name]
        taken = {*here, *there}
        for at, (key, value) in enumerate(there.items()):
            if at % ENTRIES == 0:
                yield
            if key not in here or same(here[key], value):
                continue
            number, new = 2, f"{key}_v2"
            while new in taken and not (new in here and same(here[new], value)):
                number += 1
                new = f"{key}_v{number}"
            renamed[start + key] = start + new
            taken.add(new)
    for name, start in (("definitions", DEFINITIONS), ("parameters", PARAMETERS), ("paths", "")):
        here = document[name]
        for at, (key, value) in enumerate(part[name].items()):
            if at % ENTRIES == 0:
                yield
            place = renamed.get(start + key, start + key)[len(start) :]
            if place not in here:
                here[place] = _pointing(value, renamed)
            elif name == "definitions":
                here[place] = _of_both_kinds(here[place], value)


def _pointing(value: Any, renamed: Mapping[str, str]) -> Any:
    """A value with references to what has other names here."""
    if not renamed or renamed.keys().isdisjoint(references(value)):
        return value
    if isinstance(value, dict):
        result = {key: _pointing(item, renamed) for key, item in value.items()}
        reference = value.get("$ref")
        if isinstance(reference, str) and reference in renamed:
            result["$ref"] = renamed[reference]
        return result
    return [_pointing(item, renamed) for item in value] if isinstance(value, list) else value


def _of_both_kinds(ours: Json, theirs: Json) -> Json:
    """A definition with the kinds that two servers say it has."""
    here, there = ours.get(KINDS) or [], theirs.get(KINDS) or []
    if not isinstance(there, list) or not all(isinstance(one, dict) for one in there):
        return ours
    more = [one for one in there if one not in here]
    if not more:
        return ours
    kinds = sorted([*here, *more], key=_kind_order)
    return {**ours, KINDS: kinds}


def _kind_order(one: Json) -> str:
    return f"{one.get('group')}/{one.get('version')}.{one.get('kind')}"


def same(one: object, other: object) -> bool:
    """Whether two definitions mean the same, whatever their prose and kinds."""
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            keys = _said(left)
            if keys != _said(right):
                return False
            waiting += [(left[key], right[key]) for key in keys]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def _said(value: Json) -> set[str]:
    # A property may be called so; prose is a text.
    return {
        key
        for key, item in value.items()
        if key not in _WORDS or (key == "description" and not isinstance(item, str))
    }
