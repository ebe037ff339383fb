"""Hypothesis strategies for values that fit a structural schema.

Source: OpenAPI 3.0 schema object; docs "Extend the Kubernetes API with CustomResourceDefinitions",
structural schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Schema = Mapping[str, Any]
DEEPEST = 6
MOST_ITEMS = 3
FORMATS: Mapping[str, SearchStrategy[str]] = {
    "date-time": st.sampled_from(("2023-11-14T22:13:20Z", "1999-12-31T23:59:59Z")),
    "date": st.sampled_from(("2023-11-14", "1999-12-31")),
    "duration": st.sampled_from(("1s", "1h30m")),
    "byte": st.sampled_from(("", "aGVsbG8=")),
    "uuid": st.just("0b4b9d1c-6a2c-4f0e-9d55-2f5d2b1c7a10"),
    "ipv4": st.just("192.0.2.1"),
    "ipv6": st.just("2001:db8::1"),
    "cidr": st.just("192.0.2.0/24"),
    "email": st.just("a@example.com"),
    "hostname": st.just("a.example.com"),
    "uri": st.just("https://example.com/a"),
}
"""Texts of formats that servers check."""
_ANY_CHARACTER = st.characters(codec="utf-8", exclude_characters="\0")


def values(schema: Schema, depth: int = 0) -> SearchStrategy[Any]:
    """Values that a schema takes.

    ``allOf``, ``anyOf``, ``oneOf``, ``not`` and rules in CEL are not looked at.

    Args:
        schema: structural.
        depth: how far it is from the outermost.
    """
    strategy = _not_null(schema, depth)
    return st.none() | strategy if schema.get("nullable") else strategy


def _not_null(schema: Schema, depth: int) -> SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return st.integers(0, 100) | st.sampled_from(("10%", "http"))
    match schema.get("type"):
        case "object":
            return _objects(schema, depth)
        case "array":
            return _arrays(schema, depth)
        case "boolean":
            return st.booleans()
        case "integer":
            return _integers(schema)
        case "number":
            return _numbers(schema)
        case "string":
            return _texts(schema)
    return st.sampled_from(("", "a")) | st.integers(-5, 5)  # of any type


def _objects(schema: Schema, depth: int) -> SearchStrategy[Any]:
    if schema.get("x-kubernetes-embedded-resource"):
        return st.just({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    properties: Mapping[str, Schema] = schema.get("properties", {})
    needed = set(schema.get("required", ()))
    inner = {
        name: values(one, depth + 1)
        for name, one in properties.items()
        if name in needed or depth < DEEPEST
    }
    extra = schema.get("additionalProperties")
    if not properties and isinstance(extra, Mapping):
        least = schema.get("minProperties", 0)
        most = min(schema.get("maxProperties", least + MOST_ITEMS), least + MOST_ITEMS)
        keys = st.from_regex(r"[a-z]{1,5}", fullmatch=True)
        return st.dictionaries(keys, values(extra, depth + 1), min_size=least, max_size=most)
    return st.fixed_dictionaries(
        {name: one for name, one in inner.items() if name in needed},
        optional={name: one for name, one in inner.items() if name not in needed},
    )


def _arrays(schema: Schema, depth: int) -> SearchStrategy[Any]:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + MOST_ITEMS), least + MOST_ITEMS)
    if depth >= DEEPEST:
        most = least
    items = values(schema.get("items", {}), depth + 1)
    form = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys", ())
    unique: Any = None
    if form == "set" or schema.get("uniqueItems"):
        unique = repr
    elif form == "map":
        known = schema.get("items", {}).get("properties", {})
        defaults = {key: known.get(key, {}).get("default") for key in keys}
        unique = lambda item: repr([item.get(key, defaults[key]) for key in keys])  # noqa: E731
    return st.lists(items, min_size=least, max_size=most, unique_by=unique)


def _integers(schema: Schema) -> SearchStrategy[int]:
    wide = 31 if schema.get("format") == "int32" else 53
    least = schema.get("minimum", -(2**wide))
    most = schema.get("maximum", 2**wide - 1)
    step = schema.get("multipleOf", 1)
    least += 1 if schema.get("exclusiveMinimum") else 0
    most -= 1 if schema.get("exclusiveMaximum") else 0
    return st.integers(-(-int(least) // step), int(most) // step).map(lambda one: one * step)


def _numbers(schema: Schema) -> SearchStrategy[float]:
    return st.floats(
        schema.get("minimum", -1e9),
        schema.get("maximum", 1e9),
        exclude_min=bool(schema.get("exclusiveMinimum")),
        exclude_max=bool(schema.get("exclusiveMaximum")),
        allow_subnormal=False,
    )


def _texts(schema: Schema) -> SearchStrategy[str]:
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" in schema:
        texts = st.from_regex(schema["pattern"], alphabet=st.characters(codec="ascii"))
        texts = texts.filter(lambda text: not text.endswith("\n"))
        return texts.filter(lambda text: least <= len(text) <= (most or len(text)))
    most = least + 20 if most is None else min(most, least + 20)
    return st.text(_ANY_CHARACTER, min_size=least, max_size=most)
