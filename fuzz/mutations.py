"""Objects that are almost right: typed and untyped changes to a valid one, drawn from a seed."""

from __future__ import annotations

import copy
import json
import random  # noqa: TID251  (the type of Env.rng, which is what draws)
import re
from collections.abc import Callable
from typing import Any

from fuzz.corpus import Corpus, Custom, Schema, leaves_and_parts, member, resolved
from kubetrio.schema.kind import Kind

Json = Any

WORDS = (
    "",
    "a",
    "b",
    "A",
    "a-b",
    "-",
    ".",
    "a.b.example.test",
    "example.test/a",
    "a/b/c",
    "/",
    "//",
    "..",
    "None",
    "0",
    "1",
    "-1",
    "1.5",
    "1e3",
    "true",
    "null",
    "*",
    "100m",
    "1Gi",
    "1e400",
    "-5",
    "50%",
    "150%",
    "10.0.0.1",
    "10.0.0.0/8",
    "::1",
    "fd00::/64",
    "999.1.1.1",
    "010.0.0.1",
    "::ffff:1.2.3.4",
    "2025-01-01T00:00:00Z",
    "2025-01-01T00:00:00.123456Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "RollingUpdate",
    "example.test",
    "kubernetes.io/a",
    "k8s.io/b",
    "x" * 64,
    "x" * 254,
    "x" * 1000,
    "é",
    "日本",
    "\u0000",
    "\u2028",
    "😀",
    "a\nb",
    "a b",
    " a",
    '"',
    "\\",
    "{{",
    "$(A)",
    "[a-z]+(",
    "a=b",
    "a in (b)",
    "self.a == 1",
    "object.spec",
    "http://example.test",
    "https://[",
    "YQ==",
    "!",
    "@every 1h",
    "0 0 31 2 *",
    "TZ=UTC * * * * *",
    "Europe/Berlin",
    "1h",
    "-1s",
    "PT1H",
)
INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    5,
    10,
    80,
    100,
    101,
    443,
    1000,
    30000,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31),
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    -(2**63),
)
NUMBERS = (0.5, -0.0, 1.0, 1e3, 1.5e300, -1e-300, 2**63, 2**64, -(2**64), 10**30, 1e21, 1e20)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    [],
    {},
    [None],
    {"": None},
    [[]],
    [{}],
    {"a": {}},
    {"a": [1, 1.5, None]},
    "x",
    0,
    -1,
    1.5,
    [1, "a", None, {}],
)
KEYS = (
    "",
    "x",
    "~1",
    "/",
    "a.b",
    "f:a",
    "k:{}",
    ".",
    "$patch",
    "$retainKeys",
    "$setElementOrder/a",
    "$deleteFromPrimitiveList/finalizers",
    "é",
    "\u0000",
    "apiVersion",
    "kind",
    "x" * 300,
)
DEEP = "@deep-"
"""Begins a text that stands for a deep value: its depth, and whether it is made of lists."""
DEPTHS = ("5o", "40l", "100o", "150l", "190o", "260l", "900o", "20000l", "20000o")
FOLLOWED = 60  # levels of a value that are changed: the changes call themselves


class Mutator:
    """Draws objects, values and changes.

    Args:
        rng: where chance comes from.
        corpus: values that were met.
    """

    def __init__(self, rng: random.Random, corpus: Corpus) -> None:
        self.rng = rng
        self._corpus = corpus
        self._changes: tuple[tuple[int, Callable[[Json, Any, str, Schema], None]], ...] = (
            (6, self._grow),
            (5, self._redraw),
            (4, self._met),
            (5, self._drop),
            (3, self._null),
            (4, self._empty),
            (4, self._double),
            (2, self._reorder),
            (2, self._elsewhere),
            (2, self._odd),
            (1, self._strange_key),
        )
        self._weights = [weight for weight, _ in self._changes]

    def bases(self, resource: Kind | Custom) -> list[dict[str, Any]]:
        """Objects of a resource that were met."""
        if isinstance(resource, Custom):
            return self._corpus.custom[resource]
        return self._corpus.bases[resource]

    # ------------------------------------------------------------------ values

    def value(self, schema: Schema, name: str = "", depth: int = 0) -> Json:
        """A value that fits a schema, mostly."""
        _, schema = resolved(schema)
        if not schema or schema.get("x-kubernetes-preserve-unknown-fields"):
            return self.anything(depth)
        if "enum" in schema and self.rng.random() < 0.95:
            return self.rng.choice(schema["enum"])
        form = schema.get("type", "")
        if form == "object":
            return self._object(schema, depth)
        if form == "array":
            count = self.rng.choice((0, 1, 1, 2, 3)) if depth < 8 else 0
            return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(count)]
        if form == "boolean":
            return self.rng.random() < 0.5
        if form == "integer":
            return self.rng.choice(INTEGERS)
        if form == "number":
            return self.rng.choice((*INTEGERS, *NUMBERS))
        if form == "string":
            return self._text(schema, name)
        return self.rng.choice((self._text(schema, name), self.rng.choice(INTEGERS)))

    def _object(self, schema: Schema, depth: int) -> Json:
        out: dict[str, Any] = {}
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        if not properties and "additionalProperties" not in schema:
            return self.anything(depth)
        for name, inner in properties.items():
            chance = 0.95 if name in required else 0.5 / (depth + 1)
            if depth < 8 and self.rng.random() < chance:
                out[name] = self.value(inner, name, depth + 1)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for _ in range(self.rng.choice((0, 1, 2))):
                out[self.word()] = self.value(extra, "", depth + 1)
        return out

    def anything(self, depth: int = 0) -> Json:
        """Any JSON value."""
        draw = self.rng.random()
        if depth < 5 and draw < 0.3:
            return {self.word(): self.anything(depth + 1) for _ in range(self.rng.randrange(4))}
        if depth < 5 and draw < 0.5:
            return [self.anything(depth + 1) for _ in range(self.rng.randrange(4))]
        return copy.deepcopy(self.rng.choice((*ODD, *INTEGERS, *NUMBERS, *WORDS[:20])))

    def word(self) -> str:
        """A text."""
        return self.rng.choice(WORDS)

    def _text(self, schema: Schema, name: str) -> str:
        if schema.get("format") == "date-time" and self.rng.random() < 0.9:
            return f"2025-0{self.rng.randint(1, 9)}-01T00:00:00Z"
        if schema.get("format") == "byte" and self.rng.random() < 0.9:
            return "YWJj"
        met = self._corpus.words.get(name)
        return self.rng.choice(met) if met and self.rng.random() < 0.6 else self.word()

    # ----------------------------------------------------------------- changes

    def mutated(self, value: Json, schema: Schema, times: int) -> Json:
        """A copy of a value with so many changes."""
        holder = {"value": copy.deepcopy(value)}
        for _ in range(times):
            places = list(leaves_and_parts(holder["value"], schema))
            change = self.rng.choices(self._changes, self._weights)[0][1]
            if not places:
                return holder["value"]
            change(*self.rng.choice(places))
        return holder["value"]

    def _grow(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        """One more declared member or item, of the value or of what is around it."""
        del around
        name, inside = resolved(schema)
        value = where[key]
        if isinstance(value, list):
            value.append(self.value(inside.get("items", {}), str(key)))
        elif isinstance(value, dict) and inside.get("properties"):
            chosen = self.rng.choice(list(inside["properties"]))
            met = self._corpus.values.get((name, chosen))
            if met and self.rng.random() < 0.6:
                value[chosen] = copy.deepcopy(self.rng.choice(met))
            else:
                value[chosen] = self.value(member(inside, chosen) or {}, chosen)
        else:
            where[key] = self.value(schema, str(key))

    def _redraw(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around
        where[key] = self.value(schema, str(key))

    def _met(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        met = self._corpus.values.get((around, str(key)))
        if met:
            where[key] = copy.deepcopy(self.rng.choice(met))
        else:
            where[key] = self.value(schema, str(key))

    def _drop(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        del where[key]

    def _null(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        where[key] = None

    def _empty(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        value = where[key]
        where[key] = type(value)() if value is not None else {}

    def _double(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        """An item twice, exactly or nearly so."""
        del around
        items = where if isinstance(where, list) else where[key]
        if not isinstance(items, list) or not items:
            where[key] = self.value(schema, str(key))
            return
        twin = copy.deepcopy(self.rng.choice(items))
        if isinstance(twin, dict) and twin and self.rng.random() < 0.6:
            name = self.rng.choice(list(twin))
            if self.rng.random() < 0.5:
                del twin[name]
            else:
                twin[name] = self.value(member(resolved(schema)[1], name) or {}, name)
        items.insert(self.rng.randrange(len(items) + 1), twin)

    def _reorder(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        items = where if isinstance(where, list) else where[key]
        if isinstance(items, list):
            self.rng.shuffle(items)

    def _elsewhere(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        """A value of the same object, of another place."""
        del around, schema
        if isinstance(where, dict):
            where[key] = copy.deepcopy(where[self.rng.choice(list(where))])

    def _odd(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        draw = self.rng.random()
        if draw < 0.1:
            where[key] = f"{DEEP}{self.rng.choice(DEPTHS)}@"
        elif draw < 0.4:
            where[key] = self.rng.choice(NUMBERS)
        else:
            where[key] = copy.deepcopy(self.rng.choice(ODD))

    def _strange_key(self, where: Json, key: Any, around: str, schema: Schema) -> None:
        del around, schema
        target = where[key] if isinstance(where[key], dict) else where
        if isinstance(target, dict):
            target[self.rng.choice(KEYS)] = copy.deepcopy(self.rng.choice(ODD))

    def damaged(self, data: bytes) -> bytes:
        """Some bytes, with pieces cut out, put in twice, or exchanged."""
        out = bytearray(data)
        for _ in range(self.rng.choice((1, 1, 2, 5))):
            start = self.rng.randrange(len(out) + 1)
            end = min(len(out), start + self.rng.choice((1, 1, 2, 8, 100)))
            match self.rng.randrange(4):
                case 0:
                    del out[start:end]
                case 1:
                    out[start:start] = out[start:end]
                case 2:
                    out[start:end] = bytes(self.rng.randrange(256) for _ in range(end - start))
                case _:
                    out[start:start] = self.word().encode()
        return bytes(out)

    def part(self, value: Json, keep: float) -> Json:
        """Some members of a value, for patches and applied objects."""
        if isinstance(value, dict):
            return {
                key: self.part(inner, keep)
                for key, inner in value.items()
                if key in {"apiVersion", "kind", "name"} or self.rng.random() < keep
            }
        if isinstance(value, list):
            return [self.part(inner, keep) for inner in value if self.rng.random() < keep]
        return value


def dumps(value: Json) -> bytes:
    """JSON with everything that JSON can say, deep values among it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub(f'"{DEEP}([0-9]+)([ol])@"', _deep, text).encode()


def _deep(found: re.Match[str]) -> str:
    opened, closed = ("[", "]") if found[2] == "l" else ('{"a":', "}")
    return opened * int(found[1]) + '"end"' + closed * int(found[1])


def shallow(value: Json) -> bool:
    """Whether a value is no deeper than changes can follow."""
    level = [value]
    for _ in range(FOLLOWED):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return True
    return False
