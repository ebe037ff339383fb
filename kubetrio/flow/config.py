"""Digest of the configuration API: FlowSchema and PriorityLevelConfiguration objects as values.

The API has already defaulted and validated what is stored, yet this module accepts any dict:
absent members take their documented defaults, and an object whose parts contradict each other
raises ``ConfigError``, upon which the caller acts as if the object did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubetrio.flow.shuffle import Dealer

Json = dict[str, Any]

EXEMPT = "exempt"
CATCH_ALL = "catch-all"
ALL = "*"


class ConfigError(ValueError):
    """An object that cannot be used: the text says why."""


class Distinguisher(StrEnum):
    """What tells the flows of a FlowSchema apart."""

    BY_USER = "ByUser"
    BY_NAMESPACE = "ByNamespace"
    NONE = ""


class LevelKind(StrEnum):
    """What a level does with a request that finds no seat."""

    EXEMPT = "Exempt"
    REJECT = "Reject"
    QUEUE = "Queue"


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a rule; ``namespace`` is of service accounts only."""

    kind: str
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """Which resource requests a rule is about; ``*`` in a tuple stands for everything."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...]
    resources: tuple[str, ...]
    cluster_scope: bool = False
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NonResourceRule:
    """Which other requests a rule is about."""

    verbs: tuple[str, ...]
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Matches a request of one of the subjects that one of the other rules is about."""

    subjects: tuple[Subject, ...]
    resource_rules: tuple[ResourceRule, ...] = ()
    non_resource_rules: tuple[NonResourceRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSchema:
    """Sends the requests it matches to a level, divided into flows."""

    name: str
    level: str
    uid: str = ""
    precedence: int = 1000
    distinguisher: Distinguisher = Distinguisher.NONE
    rules: tuple[PolicyRule, ...] = ()

    @property
    def order(self) -> tuple[int, str]:
        """Schemas are tried in ascending order of this."""
        return self.precedence, self.name


@dataclass(frozen=True, slots=True)
class Queuing:
    """Queues of a level: how many, how many of them a flow may use, requests in each."""

    queues: int = 64
    hand_size: int = 8
    queue_length_limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityLevel:
    """A share of the server's concurrency with rules for its use.

    Args:
        name: of the object.
        kind: what happens without a free seat.
        uid: of the object.
        shares: weight among the levels.
        lendable_percent: of the nominal limit, what others may borrow.
        borrowing_limit_percent: of the nominal limit, what may be borrowed; None: no bound.
        queuing: given exactly when the kind is ``QUEUE``.
    """

    name: str
    kind: LevelKind
    uid: str = ""
    shares: int = 30
    lendable_percent: int = 0
    borrowing_limit_percent: int | None = None
    queuing: Queuing | None = None


def flow_schema(obj: Json) -> FlowSchema:
    """Digest a FlowSchema object.

    Raises:
        ConfigError: an unknown distinguisher method or no priority level reference.
    """
    meta, spec = obj["metadata"], obj.get("spec") or {}
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    if not level:
        raise ConfigError("spec.priorityLevelConfiguration.name is empty")
    method = (spec.get("distinguisherMethod") or {}).get("type", "")
    try:
        distinguisher = Distinguisher(method)
    except ValueError:
        raise ConfigError(f"unknown distinguisher method {method!r}") from None
    return FlowSchema(
        name=meta["name"],
        uid=meta.get("uid", ""),
        level=level,
        precedence=_number(spec, "matchingPrecedence", 1000),
        distinguisher=distinguisher,
        rules=tuple(_policy_rule(rule) for rule in spec.get("rules") or ()),
    )


def priority_level(obj: Json) -> PriorityLevel:
    """Digest a PriorityLevelConfiguration object.

    Raises:
        ConfigError: type and members contradict each other, or hands that cannot be dealt.
    """
    meta, spec = obj["metadata"], obj.get("spec") or {}
    name, uid, kind = meta["name"], meta.get("uid", ""), spec.get("type", "")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if name != EXEMPT:
            raise ConfigError(f"only {EXEMPT!r} may be of type Exempt")
        if limited is not None:
            raise ConfigError("type Exempt with a limited member")
        exempt = exempt or {}
        return PriorityLevel(
            name=name,
            uid=uid,
            kind=LevelKind.EXEMPT,
            shares=_number(exempt, "nominalConcurrencyShares", 0),
            lendable_percent=_number(exempt, "lendablePercent", 0),
        )
    if kind != "Limited" or limited is None or exempt is not None:
        raise ConfigError(f"type {kind!r} does not agree with the members given")
    if name == EXEMPT:
        raise ConfigError(f"{EXEMPT!r} must be of type Exempt")
    response = limited.get("limitResponse") or {}
    queuing = _queuing(response)
    return PriorityLevel(
        name=name,
        uid=uid,
        kind=LevelKind.QUEUE if queuing else LevelKind.REJECT,
        shares=_number(limited, "nominalConcurrencyShares", 30),
        lendable_percent=_number(limited, "lendablePercent", 0),
        borrowing_limit_percent=limited.get("borrowingLimitPercent"),
        queuing=queuing,
    )


@dataclass(frozen=True, slots=True)
class Digest:
    """All usable configuration objects.

    Args:
        schemas: those that digest, in no particular order.
        levels: those that digest.
        broken: (kind, name, why) of those that do not.
    """

    schemas: tuple[FlowSchema, ...]
    levels: tuple[PriorityLevel, ...]
    broken: tuple[tuple[str, str, str], ...]


def digest(schemas: Iterable[Json], levels: Iterable[Json]) -> Digest:
    """Digest all objects, leaving out the broken ones."""
    good_schemas: list[FlowSchema] = []
    good_levels: list[PriorityLevel] = []
    broken: list[tuple[str, str, str]] = []
    for obj in schemas:
        try:
            good_schemas.append(flow_schema(obj))
        except ConfigError as error:
            broken.append(("FlowSchema", obj["metadata"]["name"], str(error)))
    for obj in levels:
        try:
            good_levels.append(priority_level(obj))
        except ConfigError as error:
            broken.append(("PriorityLevelConfiguration", obj["metadata"]["name"], str(error)))
    return Digest(tuple(good_schemas), tuple(good_levels), tuple(broken))


def _number(members: Json, key: str, default: int) -> int:
    value = members.get(key)
    return default if value is None else int(value)


def _strings(members: Json, key: str) -> tuple[str, ...]:
    return tuple(members.get(key) or ())


def _queuing(response: Json) -> Queuing | None:
    kind, members = response.get("type", "Reject"), response.get("queuing")
    if kind == "Reject" and members is None:
        return None
    if kind != "Queue":
        raise ConfigError(f"limit response {kind!r} does not agree with the members given")
    members = members or {}
    queuing = Queuing(
        queues=_number(members, "queues", 64),
        hand_size=_number(members, "handSize", 8),
        queue_length_limit=_number(members, "queueLengthLimit", 50),
    )
    try:
        Dealer(queuing.queues, queuing.hand_size)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return queuing


def _subject(members: Json) -> Subject:
    kind = members.get("kind", "")
    target = members.get(kind[:1].lower() + kind[1:]) or {}
    return Subject(kind, target.get("name", ""), target.get("namespace", ""))


def _policy_rule(rule: Json) -> PolicyRule:
    return PolicyRule(
        subjects=tuple(_subject(subject) for subject in rule.get("subjects") or ()),
        resource_rules=tuple(
            ResourceRule(
                verbs=_strings(one, "verbs"),
                api_groups=_strings(one, "apiGroups"),
                resources=_strings(one, "resources"),
                cluster_scope=bool(one.get("clusterScope")),
                namespaces=_strings(one, "namespaces"),
            )
            for one in rule.get("resourceRules") or ()
        ),
        non_resource_rules=tuple(
            NonResourceRule(_strings(one, "verbs"), _strings(one, "nonResourceURLs"))
            for one in rule.get("nonResourceRules") or ()
        ),
    )


def _everything(*groups: str) -> tuple[PolicyRule, ...]:
    return (
        PolicyRule(
            tuple(Subject("Group", group) for group in groups),
            (ResourceRule((ALL,), (ALL,), (ALL,), cluster_scope=True, namespaces=(ALL,)),),
            (NonResourceRule((ALL,), (ALL,)),),
        ),
    )


# What holds when the mandatory objects are not (yet, or no longer) stored.
MANDATORY_LEVELS = {
    EXEMPT: PriorityLevel(name=EXEMPT, kind=LevelKind.EXEMPT, shares=0),
    CATCH_ALL: PriorityLevel(name=CATCH_ALL, kind=LevelKind.REJECT, shares=5),
}
MANDATORY_SCHEMAS = {
    EXEMPT: FlowSchema(
        name=EXEMPT, level=EXEMPT, precedence=1, rules=_everything("system:masters")
    ),
    CATCH_ALL: FlowSchema(
        name=CATCH_ALL,
        level=CATCH_ALL,
        precedence=10000,
        distinguisher=Distinguisher.BY_USER,
        rules=_everything("system:unauthenticated", "system:authenticated"),
    ),
}
