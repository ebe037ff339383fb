"""Values of a structural schema with all members, some of them or those that are required.

They are plain: short texts, small numbers.  What a pattern asks for is drawn by hypothesis.
"""

from __future__ import annotations

import random  # noqa: TID251  (the randomness of an Env)
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import orjson

from kubetrio.harness.operators.outside.drawing import drawn
from kubetrio.harness.schemavalues import values

Schema = Mapping[str, Any]
Members = Literal["all", "some", "needed"]
"""Which members that are not required an object has."""
TEXTS = (
    "a", "b", "c-1", "a.example.com", "example.com/a", "10s", "1h30m", "5", "10%", "1Gi", "100m",
    "https://example.com/a", "/a", "A", "1.2.3", "2023-11-14T22:13:20Z", "* * * * *",
)  # fmt: skip
"""Texts that most patterns have one of."""
PLAIN = 3
"""So many of `TEXTS` are taken where the schema asks for no form."""
NUMBERS = (1, 2, 3, 0, 10, 1000)
PLAIN_NUMBERS = 4
DRAWN = 3
DEEPEST = 16
SOME = 0.5
EMBEDDED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
PRESERVES = "x-kubernetes-preserve-unknown-fields"
RULES = "x-kubernetes-validations"
OF_VALUES = frozenset(
    {
        "type", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf",
        "exclusiveMinimum", "exclusiveMaximum", "enum", "x-kubernetes-int-or-string", RULES,
    }
)  # fmt: skip


class Sampler:
    """Makes values of schemas.

    Args:
        rng: decides which.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._leaves: dict[bytes, Sequence[Any]] = {}
        self._turns = Counter[bytes]()

    def value(self, schema: Schema, members: Members, depth: int = 0) -> Any:
        """Return a value that a schema takes, but for ``allOf``, ``anyOf``, ``oneOf`` and rules.

        Args:
            schema: structural.
            members: which of its members are there.
            depth: how far it is from the outermost.
        """
        kind = schema.get("type")
        if "enum" in schema or schema.get("x-kubernetes-int-or-string"):
            return self._leaf(schema)
        if kind == "object":
            return self._object(schema, members, depth)
        if kind == "array":
            return self._array(schema, members, depth)
        return self._leaf(schema)

    def _object(self, schema: Schema, members: Members, depth: int) -> Any:
        if schema.get("x-kubernetes-embedded-resource"):
            return dict(EMBEDDED)
        properties: Mapping[str, Schema] = schema.get("properties", {})
        required = set(schema.get("required", ()))
        chosen = [
            name
            for name in properties
            if name in required or (depth < DEEPEST and self._takes(members))
        ]
        least = schema.get("minProperties", 0)
        chosen += [name for name in properties if name not in chosen][: max(0, least - len(chosen))]
        body = {name: self.value(properties[name], members, depth + 1) for name in chosen}
        extra = schema.get("additionalProperties")
        if not properties and isinstance(extra, Mapping):
            number = max(least, int(self._takes(members)))
            return {f"key-{at}": self.value(extra, members, depth + 1) for at in range(number)}
        if not properties and members == "all" and schema.get(PRESERVES):
            return {"key": "a"}
        return body

    def _takes(self, members: Members) -> bool:
        return members == "all" or (members == "some" and self.rng.random() < SOME)

    def _array(self, schema: Schema, members: Members, depth: int) -> list[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
        number = 0 if members == "needed" or depth >= DEEPEST else self.rng.choice((1, 1, 2))
        items = schema.get("items", {})
        rows: dict[str, Any] = {}
        for _ in range(4 * max(least, min(number, most))):
            if len(rows) >= max(least, min(number, most)):
                break
            row = self.value(items, members, depth + 1)
            rows.setdefault(_identity(row, schema, len(rows)), row)
        return list(rows.values())

    def _leaf(self, schema: Schema) -> Any:
        """A value of a schema without parts; where a rule decides, one after the other."""
        told = {name: value for name, value in schema.items() if name in OF_VALUES}
        key = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        if key not in self._leaves:
            self._leaves[key] = list(self._few(told)) or [""]
        several = self._leaves[key]
        if RULES not in told:
            return self.rng.choice(several)
        self._turns[key] += 1
        return several[self._turns[key] % len(several)]

    def _few(self, schema: Schema) -> Iterator[Any]:
        if "enum" in schema:
            yield from schema["enum"]
            return
        match schema.get("type"):
            case "boolean":
                yield from (True, False)
            case "integer" | "number":
                yield from _numbers(schema)
            case "string" if "format" not in schema:
                yield from self._texts(schema)
            case "string":
                yield from drawn(values(schema), DRAWN, self.rng)
            case _ if schema.get("x-kubernetes-int-or-string"):
                yield from (1, "10%", 80)
            case _:
                yield from ("a", 1)

    def _texts(self, schema: Schema) -> Iterator[str]:
        least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
        pattern = schema.get("pattern")
        if pattern is None:
            plain = TEXTS if RULES in schema else TEXTS[:PLAIN]
            yield from (text.ljust(least, "a")[:most] for text in plain)
            return
        try:
            fits = re.compile(pattern).search
            fitting = [text for text in TEXTS if least <= len(text) <= most and fits(text)]
            yield from fitting[:PLAIN] or drawn(values(schema), DRAWN, self.rng)
        except re.error:  # one that Go's syntax has alone
            yield from TEXTS[:PLAIN]


def _identity(row: Any, schema: Schema, number: int) -> str:
    """What no other item of a list may have."""
    match schema.get("x-kubernetes-list-type"):
        case "map":
            known = schema.get("items", {}).get("properties", {})
            keys = schema.get("x-kubernetes-list-map-keys", ())
            defaults = {key: known.get(key, {}).get("default") for key in keys}
            return repr([row.get(key, defaults[key]) for key in keys])
        case "set":
            return repr(row)
    return repr(row) if schema.get("uniqueItems") else str(number)


def _numbers(schema: Schema) -> list[Any]:
    """Small numbers that fit, and the bounds."""
    step = schema.get("multipleOf")
    least = schema.get("minimum")
    bounds = [schema[name] for name in ("minimum", "maximum") if name in schema]
    between = [sum(bounds) / 2]
    beyond = [least + (step or 1)] if least is not None else []
    candidates = [1, *bounds, *NUMBERS, *beyond, *between]
    if schema["type"] == "integer":
        candidates = [int(one) for one in candidates]
    if step:
        candidates += [step, 2 * step]
    fitting = [one for one in candidates if _fits(one, schema)]
    return list(dict.fromkeys(fitting))[:PLAIN_NUMBERS]


def _fits(number: float, schema: Schema) -> bool:
    least, most = schema.get("minimum"), schema.get("maximum")
    step = schema.get("multipleOf")
    if least is not None and (
        number < least or (number == least and schema.get("exclusiveMinimum"))
    ):
        return False
    if most is not None and (number > most or (number == most and schema.get("exclusiveMaximum"))):
        return False
    return not step or number % step == 0
