"""Bodies that a server refuses, changed where its causes say until it takes them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.harness.operators.sampling import Sampler, Schema

Object = dict[str, Any]
Judged = Callable[[Sequence[Object]], Sequence[Sequence[str] | None]]
MOST_FIELDS = 4
"""So many fields of a refusal are looked at."""
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


class Place(NamedTuple):
    """A value within a body.

    Args:
        holder: the object or list that it is in.
        key: where in that.
        schema: of the holder.
    """

    holder: Any
    key: Any
    schema: Schema

    @property
    def value(self) -> Any:
        """What is there."""
        return self.holder[self.key]

    @property
    def own_schema(self) -> Schema:
        """Schema of what is there."""
        return below(self.schema, self.key)

    @property
    def spare(self) -> bool:
        """Whether it may be left out."""
        if isinstance(self.holder, list):
            least: int = self.schema.get("minItems", 0)
            return len(self.holder) > least
        return self.key not in self.schema.get("required", ())


def below(schema: Schema, key: Any) -> Schema:
    """Schema of a member, an item or a value of a map."""
    if isinstance(key, int):
        inner = schema.get("items")
    else:
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return inner if isinstance(inner, Mapping) else {}


class Mender:
    """Asks a server, and changes what it refuses.

    Args:
        sampler: makes other values.
        schema: of the bodies.
        judge: says of bodies which fields a server refuses them for; None where it takes one.
    """

    def __init__(self, sampler: Sampler, schema: Schema, judge: Judged) -> None:
        self._sampler = sampler
        self._schema = schema
        self._judge = judge

    def mended(
        self,
        bodies: Sequence[Object],
        most: int,
        keep: Callable[[int, Object], Object] = lambda _, body: body,
    ) -> list[Object | None]:
        """Return bodies that the server takes; None where none was found.

        Args:
            bodies: to begin with.
            most: so often the server is asked at most.
            keep: is given the number of a body and what has become of it, and returns what the
                server is asked for next.
        """
        taken: list[Object | None] = [None] * len(bodies)
        waiting = dict(enumerate(copy.deepcopy(list(bodies))))
        for _ in range(most):
            if not waiting:
                break
            told = self._judge(list(waiting.values()))
            for (at, body), fields in zip(list(waiting.items()), told, strict=True):
                if fields is None:
                    taken[at] = waiting.pop(at)
                else:
                    for field in dict.fromkeys(fields[:MOST_FIELDS]):
                        self._mend(body, field)
                    waiting[at] = keep(at, body)
        return taken

    def _mend(self, body: Object, field: str) -> None:
        """Change a body at a field, or around it."""
        places, missing = _places(body, self._schema, field)
        rng = self._sampler.rng
        if missing is not None:
            inner = below(missing.schema, missing.key)
            if inner and rng.random() < 0.7:
                missing.holder[missing.key] = self._sampler.value(inner, "needed")
                return
        changed = any(self._change(place) for place in reversed(places))
        if not changed and (spare := list(spare_places(body, self._schema))):
            place = rng.choice(spare)
            del place.holder[place.key]

    def _change(self, place: Place) -> bool:
        """Change a value; say whether that was possible."""
        rng, value = self._sampler.rng, place.value
        inside = list(spare_places(value, place.own_schema))
        ways = [*(["within"] * 3 if inside else []), *(["without"] if place.spare else [])]
        if not isinstance(value, dict | list):
            ways += ["other"] * 2
        elif absent := _absent(value, place.own_schema):
            ways += ["more"]
        if not ways:
            return False
        match rng.choice(ways):
            case "within":
                spare = rng.choice(inside)
                del spare.holder[spare.key]
            case "without":
                del place.holder[place.key]
            case "more":
                name = rng.choice(absent)
                value[name] = self._sampler.value(place.own_schema["properties"][name], "needed")
            case _:
                place.holder[place.key] = self._sampler.value(place.own_schema, "needed")
        return True


def _places(body: Object, schema: Schema, field: str) -> tuple[list[Place], Place | None]:
    """The values on the way to a field, and what is not there on it.

    Args:
        body: an object.
        schema: of it.
        field: as a cause names it: ``spec.rules[0].name``.
    """
    places: list[Place] = []
    value: Any = body
    for index, name in _PART.findall(field):
        key: Any = int(index) if index.isdigit() and isinstance(value, list) else index or name
        there = (
            key < len(value) if isinstance(key, int) else isinstance(value, dict) and key in value
        )
        place = Place(value, key, schema)
        if not there:
            return places, place if isinstance(value, dict) else None
        places.append(place)
        value, schema = value[key], below(schema, key)
    return places, None


def spare_places(value: Any, schema: Schema) -> Iterator[Place]:
    """What may be left out of a value, itself not."""
    keys: Any = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        place = Place(value, key, schema)
        if place.spare:
            yield place
        yield from spare_places(value[key], below(schema, key))


def _absent(value: Any, schema: Schema) -> list[str]:
    """Properties that an object does not have."""
    if not isinstance(value, dict):
        return []
    return [name for name in schema.get("properties", {}) if name not in value]
