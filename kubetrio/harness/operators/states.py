"""States of a server as two runs are compared by: without what is particular to a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from kubetrio.harness.digest import EVERYTHING, PAGE_KEYS
from kubetrio.store.model import Reading

Object = dict[str, Any]
OF_A_RUN = frozenset(
    {
        "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
        "deletionTimestamp", "observedGeneration", "selfLink",
    }
)  # fmt: skip
"""Members that differ between two runs in which the same happens."""
NOT_COMPARED = frozenset({"Event", "Lease"})
"""Kinds whose objects say when something happened, and not what is wanted."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


async def stored(store: Reading) -> list[Object]:
    """All objects of a store, in the order of their keys.

    Args:
        store: that no other task writes to meanwhile.
    """
    objects: list[Object] = []
    keys, more = EVERYTHING, True
    while more:
        page = await store.range(keys, limit=PAGE_KEYS)
        for item in page.items:
            objects.append(orjson.loads(item.value))
            keys = keys.after(item.key)
        more = page.more
    return [one for one in objects if isinstance(one.get("metadata"), dict) and "kind" in one]


def title(obj: Object) -> str:
    """Kind, namespace and name of an object."""
    meta = obj["metadata"]
    space = meta.get("namespace")
    return f"{obj['kind']} {f'{space}/' if space else ''}{meta['name']}"


def compared(objects: Sequence[Object]) -> Mapping[str, list[Object]]:
    """Objects by what they are called, without what is particular to a run.

    Those with generated names are called by what the names begin with.
    """
    groups: dict[str, list[Object]] = {}
    for obj in objects:
        if obj["kind"] not in NOT_COMPARED:
            generated = obj["metadata"].get("generateName")
            called = title(obj)
            masked: Object = _masked(obj)
            if generated:
                called = called.removesuffix(obj["metadata"]["name"]) + f"{generated}*"
                masked["metadata"] = {**masked["metadata"], "name": "*"}
            groups.setdefault(called, []).append(masked)
    for many in groups.values():
        many.sort(key=lambda one: orjson.dumps(one, option=orjson.OPT_SORT_KEYS))
    return groups


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {key: _masked(one) for key, one in value.items() if key not in OF_A_RUN}
        case list():
            return [_masked(one) for one in value]
        case str() if _TIME.fullmatch(value):
            return "a time"
    return value


def differences(one: Sequence[Object], other: Sequence[Object]) -> list[str]:
    """In which objects two states differ, each in words.

    Args:
        one: objects of the first state.
        other: objects of the second, which is as it should be.
    """
    ours, theirs = compared(one), compared(other)
    told = []
    for called in sorted(ours.keys() | theirs.keys()):
        here, there = ours.get(called, []), theirs.get(called, [])
        if len(here) != len(there):
            told.append(f"{called}: there are {len(here)}, not {len(there)}")
        else:
            for mine, its in zip(here, there, strict=True):
                told += [f"{called}: {text}" for text in _unlike(mine, its, "")]
    return told


def _unlike(mine: Any, its: Any, path: str) -> Iterator[str]:
    """Where two values differ."""
    if isinstance(mine, dict) and isinstance(its, dict):
        for key in sorted(mine.keys() | its.keys()):
            where = f"{path}.{key}" if path else key
            if key not in mine:
                yield f"{where} is missing, not {_short(its[key])}"
            elif key not in its:
                yield f"{where} is {_short(mine[key])}, not missing"
            else:
                yield from _unlike(mine[key], its[key], where)
    elif mine != its:
        yield f"{path} is {_short(mine)}, not {_short(its)}"


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
