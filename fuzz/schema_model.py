"""Structural schemas by a grammar, values for them, and a small model of what a schema does.

Source of the rules: docs "Extend the Kubernetes API with CustomResourceDefinitions" (field pruning,
defaulting, nullable, list types).  What is unknown goes; what is null goes where that is not
allowed; what is missing gets its default; and then all is checked.
"""

from __future__ import annotations

import json
import re
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

Json = dict[str, Any]

NAMES = ("a", "b", "c", "d")
DEEPEST = 3
TEXTS = ("", "a", "abc", "zz", "\u00e9", "abcd")
NUMBERS = (0, 1, -1, 2, 7, 10, 0.5, -2.5, 2**40)
STRINGS: tuple[Json, ...] = (
    {}, {"maxLength": 3}, {"minLength": 1}, {"enum": ["a", "zz"]}, {"pattern": "^[a-c]*$"},
)  # fmt: skip
INTEGERS: tuple[Json, ...] = ({}, {"minimum": 0}, {"maximum": 7}, {"multipleOf": 2})
FRACTIONS: tuple[Json, ...] = ({}, {"minimum": 0, "exclusiveMinimum": True}, {"maximum": 7})
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EITHER = "x-kubernetes-int-or-string"
LIST_TYPE, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
TRIES = 8  # at a value that a schema takes


def scalar(rng: Random) -> Json:
    """A schema of a text, a number or a truth value."""
    match rng.randrange(5):
        case 0 | 1:
            return {"type": "string", **rng.choice(STRINGS)}
        case 2:
            return {"type": "integer", **rng.choice(INTEGERS)}
        case 3:
            return {"type": "number", **rng.choice(FRACTIONS)}
        case _:
            return rng.choice(({"type": "boolean"}, {EITHER: True}))


def _object(rng: Random, depth: int) -> Json:
    made: Json = {"type": "object"}
    if rng.random() < 0.25:
        made["additionalProperties"] = schema(rng, depth + 1)
        if rng.random() < 0.3:
            made["maxProperties"] = 2
        return made
    names = rng.sample(NAMES, rng.randint(1, 3))
    made["properties"] = {name: schema(rng, depth + 1) for name in names}
    if rng.random() < 0.3:
        made["required"] = [rng.choice(names)]
    if rng.random() < 0.2:
        made[PRESERVE] = True
    return made


def _array(rng: Random, depth: int) -> Json:
    made: Json = {"type": "array"}
    match rng.randrange(4):
        case 0:
            made |= {"items": {"type": "string"}, LIST_TYPE: "set"}
        case 1:
            items = {**_object(rng, depth + 1)}
            items.pop("additionalProperties", None)
            items.pop("maxProperties", None)
            items["properties"] = {**items.get("properties", {}), "a": {"type": "string"}}
            items["required"] = ["a"]
            made |= {"items": items, LIST_TYPE: "map", KEYS: ["a"]}
        case _:
            made["items"] = schema(rng, depth + 1)
    if rng.random() < 0.3:
        made[rng.choice(("minItems", "maxItems"))] = 1
    return made


def schema(rng: Random, depth: int = 0) -> Json:
    """A structural schema; the outermost one is of an object."""
    if depth == 0:
        return _object(rng, depth)
    kind = rng.randrange(6)
    if depth >= DEEPEST or kind < 3:
        made = scalar(rng)
    else:
        made = _object(rng, depth) if kind < 5 else _array(rng, depth)
    if "enum" not in made and rng.random() < 0.2:
        made["nullable"] = True
    if rng.random() < 0.3:
        for _ in range(TRIES):
            default = value(rng, made, wild=0.0)
            if default is not None and valid(made, default) and settled(made, default) == default:
                made["default"] = default
                break
    return made


def value(rng: Random, of: Json, wild: float = 0.06) -> Any:
    """A value that a schema may take.

    Args:
        rng: draws.
        of: the schema.
        wild: how often a part is another one, unknown or null.
    """
    if rng.random() < wild:
        return rng.choice((None, "a", 1, 0.5, True, [], {}, ["a", "a"], {"a": 1}, [None]))
    kind = of.get("type") or rng.choice(("integer", "string"))
    if kind == "object":
        made: Json = {}
        if "additionalProperties" in of:
            others = of["additionalProperties"]
            for name in rng.sample(NAMES, rng.randrange(4)):
                made[name] = value(rng, others, wild)
        needed = of.get("required", ())
        for name, inner in of.get("properties", {}).items():
            if name in needed or rng.random() < 0.6:
                made[name] = value(rng, inner, wild)
        if rng.random() < 2 * wild:
            made[rng.choice((*NAMES, "e"))] = rng.choice((1, {"x": None}, [{"y": 1}], None))
        return made
    if kind == "array":
        return [value(rng, of["items"], wild) for _ in range(rng.randrange(3))]
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(of.get("enum", TEXTS))
    whole = [number for number in NUMBERS if kind == "number" or isinstance(number, int)]
    return rng.choice(whole)


# ------------------------------------------------------------------------ the model


def pruned(of: Json | None, given: Any) -> tuple[Any, bool]:
    """A value without what its schema does not know, and whether any of that went."""
    of = of or {}
    if isinstance(given, list):
        if of.get(PRESERVE):
            return given, False
        parts = [pruned(of.get("items"), item) for item in given]
        return [part for part, _ in parts], any(went for _, went in parts)
    if not isinstance(given, dict):
        return given, False
    kept: Json = {}
    gone = False
    for name, inner in given.items():
        known = of.get("properties", {}).get(name) or of.get("additionalProperties")
        if known is not None:
            kept[name], went = pruned(known, inner)
            gone |= went
        elif of.get(PRESERVE):
            kept[name] = inner
        else:
            gone = True
    return kept, gone


def settled(of: Json | None, given: Any) -> Any:
    """A pruned value without nulls that are not allowed, with what is filled in."""
    of = of or {}
    if isinstance(given, list):
        items = of.get("items") or {}
        return [settled(items, _item(items, item)) for item in given]
    if not isinstance(given, dict):
        return given
    made: Json = {}
    known = of.get("properties", {})
    for name, inner in given.items():
        below = known.get(name) or of.get("additionalProperties")
        if below is None or inner is not None or below.get("nullable"):
            made[name] = inner
        elif "default" in below:
            made[name] = below["default"]
    for name, below in known.items():
        if name not in made and "default" in below:
            made[name] = below["default"]
    return {
        name: settled(known.get(name) or of.get("additionalProperties"), inner)
        for name, inner in made.items()
    }


def _item(items: Json, item: Any) -> Any:
    filled = item is None and not items.get("nullable")
    return items["default"] if filled and "default" in items else item


def valid(of: Json, given: Any) -> bool:
    """Whether a settled value is one that its schema takes."""
    if given is None:
        return bool(of.get("nullable"))
    if of.get(EITHER):
        return isinstance(given, int | str) and not isinstance(given, bool)
    match of["type"]:
        case "object":
            return isinstance(given, dict) and _valid_object(of, given)
        case "array":
            return isinstance(given, list) and _valid_array(of, given)
        case "boolean":
            return isinstance(given, bool)
        case "string":
            return isinstance(given, str) and _valid_text(of, given)
        case kind:
            wanted = int if kind == "integer" else int | float
            return (
                isinstance(given, wanted)
                and not isinstance(given, bool)
                and _valid_number(of, given)
            )


def _valid_text(of: Json, given: str) -> bool:
    return (
        len(given) <= of.get("maxLength", len(given))
        and len(given) >= of.get("minLength", 0)
        and given in of.get("enum", (given,))
        and (re.search(of["pattern"], given) is not None if "pattern" in of else True)
    )


def _valid_number(of: Json, given: float) -> bool:
    least, most = of.get("minimum", given), of.get("maximum", given)
    if of.get("exclusiveMinimum") and given == least:
        return False
    return bool(least <= given <= most) and given % of.get("multipleOf", given or 1) == 0


def _valid_object(of: Json, given: Json) -> bool:
    known, others = of.get("properties", {}), of.get("additionalProperties")
    below = {name: known.get(name) or others for name in given}
    return (
        all(name in given for name in of.get("required", ()))
        and len(given) <= of.get("maxProperties", len(given))
        and all(inner is None or valid(inner, given[name]) for name, inner in below.items())
    )


def _valid_array(of: Json, given: list[Any]) -> bool:
    if not of.get("minItems", 0) <= len(given) <= of.get("maxItems", len(given)):
        return False
    if not all(valid(of["items"], item) for item in given):
        return False
    if LIST_TYPE not in of:
        return True
    told = [item["a"] if of[LIST_TYPE] == "map" else item for item in given]
    return len({json.dumps(one) for one in told}) == len(told)
