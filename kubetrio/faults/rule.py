"""A rule: which requests it is about, which fault they get, and how often.

A criterion that is not given fits everything.  ``""`` as a namespace, a name or a subresource means
that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, NamedTuple

from kubetrio.config.kinds import DURATION

READS = frozenset({"get", "list"})
WATCHES = frozenset({"list", "watch"})
WRITES = frozenset({"create", "update", "patch", "delete"})
WATCH = frozenset({"watch"})
FAULTS: Mapping[str, frozenset[str]] = {
    "401": frozenset(),
    "409": WRITES,
    "410": WATCHES,
    "429": frozenset(),
    "500": frozenset(),
    "503": frozenset(),
    "504": frozenset(),
    "latency": frozenset(),
    "stale": READS,
    "watch-drop": WATCH,
    "watch-close": WATCH,
    "watch-stall": WATCH,
    "watch-delay": WATCH,
}
"""Faults, and the verbs that can have them; none means all."""
CRITERIA = ("user", "verb", "resource", "subresource", "namespace", "name")
NEEDS_DELAY = frozenset({"latency", "watch-delay"})
ENDS_WATCH = frozenset({"410", "watch-drop", "watch-close"})
MOST_RULES = 1000
MOST_SECONDS = 86400.0
_ID = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")  # it goes into headers and labels

Texts = str | Sequence[str] | None


class RuleError(ValueError):
    """A rule that cannot be meant; one line."""


class Subject(NamedTuple):
    """What of a request rules look at.

    Args:
        user: its name.
        verb: of the API.
        group: API group.
        resource: plural name.
        subresource: or empty.
        namespace: or empty.
        name: of the object, or empty.
    """

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


def _texts(field: str, given: Texts) -> tuple[str, ...]:
    if given is None:
        return ()
    many: Any = (given,) if isinstance(given, str) else given  # anything, in a file
    if not isinstance(many, Sequence) or not all(isinstance(one, str) for one in many):
        raise RuleError(f"{field}: must be a text or a list of texts")
    return tuple(many)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Args:
        fault: a key of `FAULTS`; a status code may be a number.
        id: its name in the header, the metric and the API; one is made up when empty.
        user: whose requests: a name or several, as all criteria.
        verb: API verbs, such as ``update``.
        resource: plural names, with or without their group: ``deployments.apps``.
        subresource: such as ``status``; ``""`` for the object itself.
        namespace: of the object; ``""`` for none, or all.
        name: of the object.
        count: so many times at most, which is the first requests; 0 for no end.
        every: only each so-manieth request that fits.
        probability: of the fault for each of those, from 0 to 1.
        seed: of the randomness of this rule; that of the server when None.
        delay_s: seconds, for ``latency`` and ``watch-delay``.
        after_s: seconds for which a watch goes well.
        after_events: events of a watch that go well.
        retry_after_s: whole seconds that 429 says, and 503 where this is given.
        revisions: how far behind the newest one ``stale`` reads, 0 for the revision that was the
            newest when the rule was added.
        message: cause that 500 and 503 tell, instead of the usual text.

    Raises:
        RuleError: it cannot be meant.
    """

    fault: str
    id: str = ""
    user: Texts = None
    verb: Texts = None
    resource: Texts = None
    subresource: Texts = None
    namespace: Texts = None
    name: Texts = None
    count: int = 0
    every: int = 1
    probability: float = 1.0
    seed: int | None = None
    delay_s: float = 0.0
    after_s: float = 0.0
    after_events: int = 0
    retry_after_s: int | None = None
    revisions: int = 0
    message: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fault", str(self.fault))
        if self.fault not in FAULTS:
            raise RuleError(f"fault: there is no {self.fault!r}; there are {', '.join(FAULTS)}")
        for field in CRITERIA:
            object.__setattr__(self, field, _texts(field, getattr(self, field)))
        for field, least in (("count", 0), ("every", 1), ("after_events", 0), ("revisions", 0)):
            _whole(field, getattr(self, field), least)
        for field in ("seed", "retry_after_s"):
            if getattr(self, field) is not None:
                _whole(field, getattr(self, field), 0)
        for field, most in (
            ("probability", 1.0),
            ("delay_s", MOST_SECONDS),
            ("after_s", MOST_SECONDS),
        ):
            _number(field, getattr(self, field), most)
        for field in ("id", "message"):
            if not isinstance(getattr(self, field), str):
                raise RuleError(f"{field}: must be a text")
        self._check_meaning()

    def _check_meaning(self) -> None:
        """See that the fields go together.

        Raises:
            RuleError: they do not.
        """
        if self.id and not _ID.fullmatch(self.id):
            raise RuleError("id: letters, digits, '-', '_' and '.', at most 63")
        verbs = FAULTS[self.fault]
        for verb in self.verb or ():
            if verbs and verb not in verbs:
                raise RuleError(f"verb: {verb} cannot have {self.fault}, only {_listed(verbs)} can")
        if self.fault in NEEDS_DELAY and not self.delay_s:
            raise RuleError(f"delay: {self.fault} needs one")
        watches = self.fault == "410" or self.fault.startswith("watch-")
        if (self.after_s or self.after_events) and not watches:
            raise RuleError(f"after: not for {self.fault}, only for what befalls a watch")

    def fits(self, subject: Subject) -> bool:
        """Whether the rule is about such requests."""
        verbs = FAULTS[self.fault]
        if verbs and subject.verb not in verbs:
            return False
        with_group = f"{subject.resource}.{subject.group}" if subject.group else subject.resource
        return (
            _in(subject.verb, self.verb)
            and (_in(subject.resource, self.resource) or _in(with_group, self.resource))
            and _in(subject.namespace, self.namespace)
            and _in(subject.name, self.name)
            and _in(subject.subresource, self.subresource)
            and _in(subject.user, self.user)
        )

    def as_dict(self) -> dict[str, Any]:
        """The rule as JSON has it, without what is as usual."""
        shown: dict[str, Any] = {"id": self.id} if self.id else {}
        shown["fault"] = self.fault
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in ("id", "fault") and value != one.default and value != ():
                many = isinstance(value, tuple)
                shown[_KEYS[one.name]] = list(value) if many else value
        return shown

    @classmethod
    def of(cls, data: object) -> Rule:
        """The rule that a JSON object means; durations are seconds, or texts as ``2s``.

        Raises:
            RuleError: it is none.
        """
        if not isinstance(data, Mapping):
            raise RuleError("a rule is an object")
        known = {key: field for field, key in _KEYS.items()}
        given: dict[str, Any] = {}
        for key, value in data.items():
            if key not in known:
                raise RuleError(f"{key}: there is no such field; there are {', '.join(known)}")
            field = known[key]
            given[field] = _seconds(key, value) if field in ("delay_s", "after_s") else value
        if "fault" not in given:
            raise RuleError("fault: must be given")
        return cls(**given)


_KEYS = {one.name: one.name for one in fields(Rule)} | {
    "delay_s": "delay",
    "after_s": "after",
    "after_events": "afterEvents",
    "retry_after_s": "retryAfter",
}
"""Names of the fields in JSON."""


def rules_of(data: object) -> list[Rule]:
    """The rules of a document: a list, an object with ``rules``, or one rule.

    Raises:
        RuleError: it has something else.
    """
    if isinstance(data, Mapping) and set(data) == {"rules"}:
        data = data["rules"]
    many = data if isinstance(data, list) else [data]
    parsed = []
    for at, one in enumerate(many):
        try:
            parsed.append(Rule.of(one))
        except RuleError as error:
            raise RuleError(f"rules[{at}].{error}" if len(many) > 1 else str(error)) from None
    return parsed


def _in(value: str, wanted: Texts) -> bool:
    return not wanted or value in wanted  # a tuple, since the rule is made


def _listed(verbs: frozenset[str]) -> str:
    return ", ".join(sorted(verbs))


def _whole(field: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RuleError(f"{_KEYS.get(field, field)}: must be a whole number from {least} on")


def _number(field: str, value: object, most: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value) or not 0 <= value <= most:  # type: ignore[operator,arg-type]
        raise RuleError(f"{_KEYS.get(field, field)}: must be a number from 0 to {most:g}")


def _seconds(key: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return DURATION.parse(value)
    except ValueError as error:
        raise RuleError(f"{key}: {error}") from None
