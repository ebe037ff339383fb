"""What differs between two replays of a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Script, Step

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----", re.DOTALL)
_COMPARED = frozenset({"content-type", "warning", "retry-after", "location", "www-authenticate"})
"""Headers that two servers answer alike."""
_OF_THE_SERVER = frozenset({"resourceVersion", "continue", "selfLink"})
"""Members whose values are the server's own."""
MISSING = "(none)"
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """A place at which two replays differ.

    Args:
        step: number of the step, from 1.
        where: in its answer, such as ``body.metadata.name``.
        one: what the first has there.
        other: what the second has there.
    """

    step: int
    where: str
    one: object
    other: object

    @property
    def text(self) -> str:
        """Place and values, without the step."""
        return f"{self.where}: {_short(self.one)} / {_short(self.other)}"

    def __str__(self) -> str:
        return f"step {self.step}: {self.text}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def diff(one: Script, other: Script, *, exact: bool = True) -> list[Difference]:
    """Where the answers of two replays differ, in the order of the steps.

    Args:
        one: a replay.
        other: a replay of the same steps.
        exact: whether each byte counts.  Otherwise uids and generated names are compared by when
            they first appear; times, certificates, resourceVersions and most headers do not count,
            as between two servers or two seeds.
    """
    looks: list[Callable[[Step], Any]]
    looks = [_exactly, _exactly] if exact else [_Alike().answer, _Alike().answer]
    differences: list[Difference] = []
    for number, pair in enumerate(zip_longest(one.steps, other.steps), 1):
        shown = [
            None if step is None else look(step) for look, step in zip(looks, pair, strict=True)
        ]
        if None in pair:
            differences.append(Difference(number, "step", *(_named(step) for step in pair)))
        elif shown[0] != shown[1]:
            places = _compared("answer", *shown)
            differences += [Difference(number, where, *values) for where, *values in places]
    return differences


def _named(step: Step | None) -> str:
    return MISSING if step is None else step.do


def _compared(where: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    match one, other:
        case Mapping(), Mapping():
            for key in dict.fromkeys([*one, *other]):
                pair = one.get(key, MISSING), other.get(key, MISSING)
                yield from _compared(f"{where}.{key}", *pair)
        case list(), list():
            for at, pair in enumerate(zip_longest(one, other, fillvalue=MISSING)):
                yield from _compared(f"{where}.{at}", *pair)
        case _ if one != other:
            yield where, one, other


def _exactly(step: Step) -> Any:
    """An answer as it is."""
    return {} if step.answer is None else step.answer.as_dict()


class _Alike:
    """Answers without what is particular to a server; one for each replay."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def answer(self, step: Step) -> Any:
        reply = step.answer or Reply()
        shown = reply.as_dict()
        shown["headers"] = {
            name: value for name, value in reply.headers.items() if name in _COMPARED
        }
        return self._plain(shown)

    def _plain(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case Mapping():
                self._generated(value)
                return {
                    key: self._plain(one) for key, one in value.items() if key not in _OF_THE_SERVER
                }
            case list():
                return [self._plain(one) for one in value]
        return value

    def _generated(self, meta: Mapping[str, Any]) -> None:
        """Remember a name that the server made."""
        base, name = meta.get("generateName"), meta.get("name")
        if isinstance(base, str) and isinstance(name, str) and name.startswith(base):
            self._names.setdefault(name, f"{base}#{len(self._names) + 1}")

    def _text(self, text: str) -> str:
        for name, shown in self._names.items():
            if name in text:
                text = text.replace(name, shown)
        text = _CERTIFICATE.sub("(certificate)", _TIME.sub("(time)", text))
        return _UID.sub(
            lambda match: self._names.setdefault(match[0], f"uid#{len(self._names) + 1}"), text
        )
