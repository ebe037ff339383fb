"""Stages of pods in kwok's shape, read from a file: what comes when, with which status.

A stage says of which pods it is next (labels, annotations, paths in jq), how long it waits, how
likely it is among others, and what it does: a status from a template, an event, finalizers, the
deletion.  What is not of the part that is read here is refused with its place in the file.

Source: kwok.sigs.k8s.io, "Stages" (``kwok.x-k8s.io/v1alpha1``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kubetrio.gotext.durations import parse_duration
from kubetrio.machinery.timestamps import parse_time
from kubetrio.simulation.goexpressions import TemplateError
from kubetrio.simulation.gotemplates import Template, read
from kubetrio.simulation.jqpaths import PathError, path_of
from kubetrio.simulation.stagefunctions import functions_of
from kubetrio.wire.yamlwire import YamlError, decode

Object = dict[str, Any]
Path_ = Callable[[Any], list[Any]]
Matches = Callable[[Object], bool]
Chance = Callable[[], float]
"""Gives a random number, at least 0 and below 1."""
API = "kwok.x-k8s.io/v1alpha1"
_DOCUMENTS = re.compile(r"^---[ \t]*$", re.MULTILINE)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_IGNORED = frozenset({"statusSubresource", "statusPatchAs"})
"""Members of ``next`` that say how a client writes."""


class StageError(ValueError):
    """Stages that cannot be read; the text says where and why."""


class Amount(NamedTuple):
    """A number that the stage or the pod says.

    Args:
        default: what the stage says; None for nothing.
        path: where the pod says it; None for nowhere.
    """

    default: float | None
    path: Path_ | None

    def seconds(self, pod: Object, now: float) -> float | None:
        """What it is as a time from now on: a duration, or the time until a moment."""
        values = self.path(pod) if self.path else []
        if values and isinstance(values[0], str):
            if not values[0]:
                return None
            try:
                return parse_time(values[0]) - now
            except ValueError:
                pass
            try:
                return parse_duration(values[0])
            except ValueError:
                pass
        return self.default

    def weight(self, pod: Object) -> int:
        """What it is as a whole number."""
        values = self.path(pod) if self.path else []
        try:
            return int(values[0]) if values else int(self.default or 0)
        except (TypeError, ValueError):
            return int(self.default or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What a stage does.

    Args:
        status: what it makes of the status, None for nothing.
        event: type, reason and message; None for none.
        finalizers: the finalizers of the pod from those that it has, None for the same.
        delete: whether the pod is deleted.
    """

    status: Template | None
    event: tuple[str, str, str] | None
    finalizers: Callable[[Sequence[str]], list[str]] | None
    delete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage.

    Args:
        name: of it.
        matches: whether it is next for a pod.
        weight: how likely it is among those that match.
        delay: how long it waits.
        jitter: up to how long it may wait; a shorter time counts instead.
        next: what it does.
    """

    name: str
    matches: Matches
    weight: Amount
    delay: Amount
    jitter: Amount
    next: Next

    def wait_s(self, pod: Object, now: float, chance: Chance) -> float:
        """How long it waits for a pod, in seconds."""
        delay = self.delay.seconds(pod, now) or 0.0
        jitter = self.jitter.seconds(pod, now)
        if jitter is None:
            return max(delay, 0.0)
        if jitter <= delay:
            return max(jitter, 0.0)
        return max(delay + chance() * (jitter - delay), 0.0)


def chosen(stages: Sequence[Stage], pod: Object, chance: Chance) -> Stage | None:
    """The stage that is next for a pod, by chance where there are several; None for none."""
    matching = [one for one in stages if one.matches(pod)]
    if len(matching) < 2:
        return matching[0] if matching else None
    weights = [max(one.weight.weight(pod), 0) for one in matching]
    weights = weights if any(weights) else [1] * len(matching)
    left = chance() * sum(weights)
    for one, weight in zip(matching, weights, strict=True):
        left -= weight
        if left < 0:
            return one
    return matching[-1]


def load(path: Path) -> tuple[Stage, ...]:
    """Read the stages in a file.  Blocking.

    Raises:
        StageError: it cannot be read.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise StageError(f"cannot be read: {error}") from error
    return parsed(text)


def parsed(text: str) -> tuple[Stage, ...]:
    """The stages in YAML documents.

    Raises:
        StageError: one is no stage, or has members that are not understood.
    """
    stages = []
    for number, part in enumerate(_DOCUMENTS.split(text), 1):
        where = f"document {number}"
        try:
            value = decode(part.encode()).value
        except YamlError as error:
            raise StageError(f"{where}: {error}") from error
        if value is not None:
            stages.append(_stage(_Reader(value, where)))
    if not stages:
        raise StageError("there is no stage")
    return tuple(stages)


# ---------------------------------------------------------------------- reading


class _Reader:
    """An object of which each member is read once, and none is left.

    Args:
        value: the object.
        where: it is, for messages.
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise StageError(f"{where}: is no object")
        self._rest = dict(value)
        self.where = where

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Take a member.

        Raises:
            StageError: it is of another type.
        """
        value = self._rest.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise StageError(f"{self.where}: {name} has the wrong type")
        return value

    def inner(self, name: str) -> _Reader:
        """Take a member that is an object; an empty one where there is none."""
        return _Reader(self.take(name, dict, {}), f"{self.where}: {name}")

    def drop(self, names: frozenset[str]) -> None:
        """Leave members out that change nothing."""
        for name in names:
            self._rest.pop(name, None)

    def done(self) -> None:
        """See that nothing is left.

        Raises:
            StageError: something is.
        """
        if self._rest:
            raise StageError(f"{self.where}: {min(self._rest)} is not supported")


def _stage(reader: _Reader) -> Stage:
    version, kind = reader.take("apiVersion", str, ""), reader.take("kind", str, "")
    if (version, kind) != (API, "Stage"):
        raise StageError(f"{reader.where}: is no Stage of {API}")
    name = reader.take("metadata", dict, {}).get("name")
    reader.drop(frozenset({"status"}))
    if not isinstance(name, str):
        raise StageError(f"{reader.where}: has no name")
    spec = reader.inner("spec")
    reader.done()
    spec.where = name
    about = spec.take("resourceRef", dict, {})
    if about.get("kind") != "Pod" or about.get("apiGroup") not in (None, "", "v1"):
        raise StageError(f"{name}: only stages of pods are supported, not of {about.get('kind')}")
    spec.drop(frozenset({"immediateNextStage"}))  # what waits for nothing comes at once anyway
    delay = spec.inner("delay")
    stage = Stage(
        name=name,
        matches=_selector(spec.inner("selector")),
        weight=_amount(spec, "weight", "weightFrom", 1.0),
        delay=_amount(delay, "durationMilliseconds", "durationFrom", 1e-3),
        jitter=_amount(delay, "jitterDurationMilliseconds", "jitterDurationFrom", 1e-3),
        next=_next(spec.inner("next")),
    )
    delay.done()
    spec.done()
    return stage


def _amount(reader: _Reader, name: str, source: str, unit: float) -> Amount:
    number = reader.take(name, (int, float))
    inner = reader.inner(source)
    text = inner.take("expressionFrom", str)
    inner.done()
    path = None if text is None else _path(text, f"{reader.where}: {source}")
    return Amount(None if number is None else number * unit, path)


def _path(text: str, where: str) -> Path_:
    try:
        return path_of(text)
    except PathError as error:
        raise StageError(f"{where}: {error}") from error


def _selector(reader: _Reader) -> Matches:
    labels = reader.take("matchLabels", dict, {})
    annotations = reader.take("matchAnnotations", dict, {})
    tests = [
        _expression(_Reader(one, f"{reader.where}: matchExpressions"))
        for one in reader.take("matchExpressions", list, [])
    ]
    reader.done()

    def matches(pod: Object) -> bool:
        meta = pod["metadata"]
        return (
            labels.items() <= (meta.get("labels") or {}).items()
            and annotations.items() <= (meta.get("annotations") or {}).items()
            and all(test(pod) for test in tests)
        )

    return matches


def _expression(reader: _Reader) -> Matches:
    path = _path(reader.take("key", str, ""), reader.where)
    operator = reader.take("operator", str, "")
    values = frozenset(map(str, reader.take("values", list, [])))
    reader.done()
    if operator not in _OPERATORS or bool(values) is ("Exist" in operator):
        raise StageError(f"{reader.where}: {operator} with {len(values)} values is none")
    positive = operator in ("In", "Exists")

    def holds(pod: Object) -> bool:
        texts = path(pod)
        if values:
            return any(_text(one) in values for one in texts) is positive
        return bool(texts) is positive

    return holds


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _next(reader: _Reader) -> Next:
    reader.drop(_IGNORED)
    template = reader.take("statusTemplate", str)
    status = None
    if template is not None:
        try:
            status = read(template, functions_of({}, 0.0, "", ""))
        except TemplateError as error:
            raise StageError(f"{reader.where}: statusTemplate: {error}") from error
    event = None
    if told := reader.take("event", dict, {}):
        reading = _Reader(told, f"{reader.where}: event")
        event = (reading.take("type", str, "Normal"), reading.take("reason", str, ""),
                 reading.take("message", str, ""))  # fmt: skip
        reading.done()
    finalizers = _finalizers(reader.inner("finalizers"))
    delete = reader.take("delete", bool, default=False)
    reader.done()
    return Next(status=status, event=event, finalizers=finalizers, delete=delete)


def _finalizers(reader: _Reader) -> Callable[[Sequence[str]], list[str]] | None:
    add, remove = reader.take("add", list, []), reader.take("remove", list, [])
    empty = reader.take("empty", bool, default=False)
    reader.done()
    try:
        added, removed = [one["value"] for one in add], {one["value"] for one in remove}
    except (KeyError, TypeError):
        raise StageError(f"{reader.where}: has an entry without a value") from None
    if not added and not removed and not empty:
        return None

    def changed(there: Sequence[str]) -> list[str]:
        kept = [] if empty else [one for one in there if one not in removed]
        return [*kept, *(one for one in added if one not in kept)]

    return changed


def merged(status: Mapping[str, Any], patch: Mapping[str, Any]) -> Object:
    """A status with what a template says of it: conditions by type, lists whole, null for gone.

    Args:
        status: as it is.
        patch: what is said.
    """
    new = dict(status)
    for name, value in patch.items():
        old = new.get(name)
        if value is None:
            new.pop(name, None)
        elif name == "conditions" and isinstance(value, list):
            known = {one["type"]: one for one in old or ()}
            for one in value:
                known[one["type"]] = {**known.get(one["type"], {}), **one}
            new[name] = list(known.values())
        elif isinstance(value, dict):
            new[name] = merged(old if isinstance(old, dict) else {}, value)
        else:
            new[name] = value
    return new
