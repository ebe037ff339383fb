"""Numbers of replicas at paths that a CustomResourceDefinition names."""

from __future__ import annotations

from typing import Any

from kubetrio.gotext import text as gotext
from kubetrio.machinery.fielderrors import invalid
from kubetrio.schema.rules import Causes, Json

MAX_REPLICAS = (1 << 31) - 1


def steps_of(path: str) -> tuple[str, ...]:
    """Member names of a dotted path, with or without a dot in front."""
    return tuple(path.removeprefix(".").split("."))


def value_at(obj: Json, path: str) -> Any:
    """The value at a path, or None.

    Raises:
        ValueError: something on the way is no object; in the words of Go's accessors.
    """
    value: Any = obj
    steps = steps_of(path)
    for at, name in enumerate(steps):
        if value is None and at:
            return None
        if type(value) is not dict:
            raise _other_type(steps[: at + 1], value, "map[string]interface{}")
        if name not in value:
            return None
        value = value[name]
    return value


def replicas_at(obj: Json, path: str) -> int | None:
    """The number at a path, or None.

    Raises:
        ValueError: there is something else, in the words of Go's accessors.
    """
    value = value_at(obj, path)
    if value is None or type(value) is int:
        return value
    raise _other_type(steps_of(path), value, "int64")


def text_at(obj: Json, path: str) -> str:
    """The text at a path, empty where there is none.

    Raises:
        ValueError: there is something else, in the words of Go's accessors.
    """
    value = value_at(obj, path)
    if value is None or type(value) is str:
        return value or ""
    raise _other_type(steps_of(path), value, "string")


def with_replicas(obj: Json, path: str, replicas: int) -> Json:
    """An object with another number at a path; the given one is not changed."""
    return _with(obj, steps_of(path), replicas)


def _with(obj: Json, steps: tuple[str, ...], value: int) -> Json:
    name, rest = steps[0], steps[1:]
    return {**obj, name: _with(obj.get(name) or {}, rest, value) if rest else value}


def check_replicas(obj: Json, path: str, causes: Causes) -> None:
    """Refuse a number of replicas that a scale cannot show."""
    try:
        replicas = replicas_at(obj, path) or 0
    except ValueError as error:
        causes.append(invalid(path, 0, str(error)))
        return
    if replicas < 0:
        causes.append(invalid(path, replicas, "should be a non-negative integer"))
    elif replicas > MAX_REPLICAS:
        detail = f"should be less than or equal to {MAX_REPLICAS}"
        causes.append(invalid(path, replicas, detail))


def check_selector(obj: Json, path: str, causes: Causes) -> None:
    """Refuse what is no text where a scale shows a selector."""
    try:
        text_at(obj, path)
    except ValueError as error:
        causes.append(invalid(path, "", str(error)))


def _other_type(steps: tuple[str, ...], value: Any, wanted: str) -> ValueError:
    place = f".{'.'.join(steps)}"
    return ValueError(
        f"{place} accessor error: {gotext.plain(value)} is of the type {gotext.go_type(value)}, "
        f"expected {wanted}"
    )
