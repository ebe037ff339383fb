"""States of a custom kind that cover its schema, each taken by a server.

A state has all properties that the server takes together; what no such state has is put into the
smallest one by itself.  What the server refuses is mended where its causes say, and asked again.

Source: Acto (SOSP 2023), which walks through each property of a CustomResourceDefinition.
"""

from __future__ import annotations

import copy
import random  # noqa: TID251  (the randomness of an Env)
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kubetrio.harness.operators.mending import Mender, spare_places
from kubetrio.harness.operators.sampling import Sampler, Schema

Object = dict[str, Any]
Path = tuple[str, ...]
"""Names of properties; `ITEM` for an item of a list, `VALUE` for a value of a map."""
ITEM, VALUE = "[]", "{}"
Judge = Callable[[Sequence[Object]], Sequence[Sequence[str] | None]]
"""Says of bodies which fields a server refuses them for; None where it takes one."""
NOT_WALKED = ("apiVersion", "kind", "metadata", "status")
WHOLE, PARTIAL, SMALL = 4, 8, 2
"""So many states are tried with all members, some, and those that are required."""
MOST_MENDS, MOST_GRAFTS = 8, 12
"""So often the server is asked for those, and for those with a property that none has."""
STATES = 5
"""So many states there are at least, where so many different ones are taken."""
BASES = 3
"""So many states are tried to put a property into that none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covering:
    """States of a kind.

    Args:
        states: bodies, the smallest first; together they have each property but those missing.
        missing: properties that no state has, for no value of them was taken.
    """

    states: Sequence[Object]
    missing: Sequence[str]


def covering(definition: Mapping[str, Any], judge: Judge, rng: random.Random) -> Covering:
    """Return states that cover the schema of a CustomResourceDefinition.

    Args:
        definition: whose stored version counts.
        judge: asks a server.
        rng: decides which.
    """
    spec, schema = definition["spec"], schema_of(definition)
    head: Object = {
        "apiVersion": f"{spec['group']}/{_version(definition)['name']}",
        "kind": spec["names"]["kind"],
        "metadata": {"namespace": "default"} if spec["scope"] == "Namespaced" else {},
    }
    sampler = Sampler(rng)
    mender = Mender(sampler, schema, lambda bodies: judge([{**head, **one} for one in bodies]))
    bodies = [sampler.value(schema, "needed") for _ in range(SMALL)]
    bodies += [sampler.value(schema, "all") for _ in range(WHOLE)]
    bodies += [sampler.value(schema, "some") for _ in range(PARTIAL)]
    accepted = [one for one in mender.mended(bodies, MOST_MENDS) if one is not None]
    every = list(properties(schema))
    left = [path for path in every if path not in _covered(accepted, schema)]
    if accepted and left:
        accepted += _grafted(left, accepted, schema, mender, sampler)
    chosen = _few(accepted, schema)
    missing = [".".join(path) for path in every if path not in _covered(chosen, schema)]
    return Covering(states=[{**head, **one} for one in chosen], missing=missing)


def _version(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stored version."""
    [version] = [one for one in definition["spec"]["versions"] if one["storage"]]
    stored: Mapping[str, Any] = version
    return stored


def schema_of(definition: Mapping[str, Any]) -> Schema:
    """Schema of a definition's objects, without what users do not write or the server decides."""
    schema = _version(definition)["schema"]["openAPIV3Schema"]
    members = schema.get("properties", {})
    return {
        **schema,
        "type": "object",
        "properties": {name: one for name, one in members.items() if name not in NOT_WALKED},
        "required": [one for one in schema.get("required", ()) if one not in NOT_WALKED],
    }


def properties(schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Paths of all properties that a schema declares, outer ones first."""
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name)
        yield from properties(inner, (*path, name))
    for name, part in ((ITEM, "items"), (VALUE, "additionalProperties")):
        if isinstance(inner := schema.get(part), Mapping):
            yield from properties(inner, (*path, name))


def present(value: Any, schema: Schema, path: Path = ()) -> Iterator[Path]:
    """Paths of the declared properties that a value has."""
    if isinstance(value, list):
        for one in value:
            yield from present(one, schema.get("items", {}), (*path, ITEM))
    if not isinstance(value, dict):
        return
    known, extra = schema.get("properties", {}), schema.get("additionalProperties")
    for name, one in value.items():
        if name in known:
            yield (*path, name)
            yield from present(one, known[name], (*path, name))
        elif isinstance(extra, Mapping):
            yield from present(one, extra, (*path, VALUE))


def _covered(bodies: Sequence[Object], schema: Schema) -> set[Path]:
    return {path for one in bodies for path in present(one, schema)}


def _grafted(
    left: Sequence[Path],
    accepted: Sequence[Object],
    schema: Schema,
    mender: Mender,
    sampler: Sampler,
) -> list[Object]:
    """States that have the properties that none has yet, each by itself.

    Args:
        left: the properties.
        accepted: states there are.
        schema: of the objects.
        mender: mends them.
        sampler: makes values of properties.
    """
    bases = _by_size(accepted)[:BASES]
    tries = [(path, base) for path in left for base in bases]
    bodies = [graft(base, path, schema, sampler) for path, base in tries]

    def keep(at: int, body: Object) -> Object:
        path, _ = tries[at]
        return body if path in present(body, schema) else graft(body, path, schema, sampler)

    mended = mender.mended(bodies, MOST_GRAFTS, keep)
    return [one for one in mended if one is not None]


def graft(body: Object, path: Path, schema: Schema, sampler: Sampler) -> Object:
    """Return an object with a property, and what it needs.

    Args:
        body: the object without it.
        path: the property.
        schema: of the object.
        sampler: makes the values.
    """
    grafted: Any = copy.deepcopy(body)
    value, inner = grafted, schema
    for at, name in enumerate(path):
        last = at == len(path) - 1
        if name == ITEM:
            inner = inner["items"]
            if not value:
                value.append(sampler.value(inner, "needed"))
            value = value[0]
        elif name == VALUE:
            inner = inner["additionalProperties"]
            value = value.setdefault("key-0", sampler.value(inner, "needed"))
        else:
            inner = inner["properties"][name]
            if last or name not in value:
                value[name] = sampler.value(inner, "all" if last else "needed")
            value = value[name]
    body_with: Object = grafted
    return body_with


def _by_size(bodies: Sequence[Object]) -> list[Object]:
    """Different bodies, the smallest first."""
    texts = {orjson.dumps(one, option=orjson.OPT_SORT_KEYS): one for one in bodies}
    return [texts[key] for key in sorted(texts, key=lambda key: (len(key), key))]


def _few(bodies: Sequence[Object], schema: Schema) -> list[Object]:
    """As few bodies as have all that the bodies have, and others up to a number of states."""
    ordered = _by_size(bodies)
    chosen = ordered[:1]
    have = _covered(chosen, schema)
    rest = [(one, set(present(one, schema))) for one in ordered[1:]]
    while rest:
        best, paths = max(rest, key=lambda pair: len(pair[1] - have))
        if not paths - have:
            break
        chosen.append(best)
        have |= paths
    others = [one for one in ordered if not any(one is other for other in chosen)]
    return _by_size([*chosen, *others[: max(0, STATES - len(chosen))]])


def reduced(
    bodies: Sequence[Object], schema: Schema, shows: Callable[[Sequence[Object]], bool]
) -> Sequence[Object]:
    """Return fewer and smaller bodies by which a mistake shows.

    Args:
        bodies: by which it does.
        schema: of them.
        shows: says whether it does by other ones.
    """
    for at in range(len(bodies)):
        fewer = [*bodies[:at], *bodies[at + 1 :]]
        if fewer and shows(fewer):
            return reduced(fewer, schema, shows)
    small = list(bodies)
    for at in range(len(small)):
        place = 0
        while (less := _less(small[at], schema, place)) is not None:
            other = [*small[:at], less, *small[at + 1 :]]
            if shows(other):
                small = other
            else:
                place += 1
    return small


def _less(body: Object, schema: Schema, number: int) -> Object | None:
    """A body without one of the places that it may be without; None where there are fewer."""
    copied = copy.deepcopy(body)
    inside = {name: one for name, one in copied.items() if name not in NOT_WALKED}
    places = list(spare_places(inside, schema))
    if number >= len(places):
        return None
    del places[number].holder[places[number].key]
    return {**{name: copied[name] for name in copied if name in NOT_WALKED}, **inside}
