"""Classification: which FlowSchema a request matches, so which level and which flow it is of.

The schemas are tried in ascending order of (precedence, name) and the first with a matching rule
wins.  Said so it is a loop over every schema, rule and string list for each request; here it is
compiled.  Every rule of every schema, in order of trial, is one bit of an integer.  A request
needs the set of rules that its *subject* satisfies and the set that its *target* (verb and
resource, or verb and path) satisfies; the lowest bit of their intersection is the answer.  Both
sets are remembered, by user and by target, so that a typical request costs two dictionary
look-ups and one ``&``.  Namespaces that no rule names are one class, which keeps the number of
targets small.

Source: KEP-1040, "Request classification"; matching as documented for flowcontrol/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kubetrio.flow.config import (
    ALL,
    CATCH_ALL,
    Distinguisher,
    FlowSchema,
    NonResourceRule,
    PriorityLevel,
    ResourceRule,
    Subject,
)
from kubetrio.flow.shuffle import flow_hash
from kubetrio.flow.ticket import Flow
from kubetrio.machinery.remember import keep

_SERVICE_ACCOUNT = "system:serviceaccount:"
_READ_ONLY = frozenset({"get", "list", "watch"})
# Entries per memory; each is emptied when full, so hostile names cost time but not memory.
# So many, by keys of so many characters: clients choose what they ask for, and groups may be many.
_REMEMBERED = (4096, 2048)


class RequestDigest(NamedTuple):
    """What flow control knows of a request.

    A request without a resource (``is_resource`` false) is judged by its verb, which is its
    method in lower case, and its path.
    """

    user: str
    groups: tuple[str, ...]
    verb: str
    path: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    api_group: str = ""
    name: str = ""
    api_version: str = ""
    is_resource: bool = True

    @property
    def mutating(self) -> bool:
        """Whether it counts as mutating in the metrics: anything but get, list and watch."""
        return self.verb not in _READ_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What a request is.

    Args:
        flow: schema name, distinguisher and hash, as the level's queues want it.
        level: name of the priority level.
        schema_uid: for the ``X-Kubernetes-PF-FlowSchema-UID`` header.
        level_uid: for the ``X-Kubernetes-PF-PriorityLevel-UID`` header.
        max_seats: bound on a request's width in this level; None: the estimator's own.
        generation: of the configuration that said so.
    """

    flow: Flow
    level: str
    schema_uid: str
    level_uid: str
    max_seats: int | None
    generation: int


@dataclass(frozen=True, slots=True)
class _Target:
    """One schema with what its requests have in common."""

    schema: FlowSchema
    level: PriorityLevel
    max_seats: int | None
    distinguishes: Distinguisher
    hashed: bool


class Classifier:
    """The compiled schemas of one configuration; immutable but for what it remembers.

    Args:
        schemas: all schemas, with ``catch-all`` among them.
        levels: by name; every schema's level is among them.
        max_seats: by level name, the bound on width; None or absent: no bound.
        generation: number of the configuration.
    """

    __slots__ = (
        "_by_group",
        "_by_user",
        "_fallback",
        "_flows",
        "_generation",
        "_named_namespaces",
        "_non_resource_rules",
        "_resource_rules",
        "_service_accounts",
        "_subjects",
        "_targets",
        "_targets_of_rules",
    )

    def __init__(
        self,
        schemas: Iterable[FlowSchema],
        levels: Mapping[str, PriorityLevel],
        max_seats: Mapping[str, int | None],
        generation: int = 0,
    ) -> None:
        self._generation = generation
        self._targets_of_rules: list[_Target] = []
        self._resource_rules: list[tuple[int, ResourceRule]] = []
        self._non_resource_rules: list[tuple[int, NonResourceRule]] = []
        self._by_user: dict[str, int] = {}
        self._by_group: dict[str, int] = {}
        self._service_accounts: list[tuple[int, str]] = []  # all accounts of a namespace
        for schema in sorted(schemas, key=lambda one: one.order):
            level = levels[schema.level]
            # Where all requests share one queue, or none, telling flows apart is wasted.
            hashed = level.queuing is not None and level.queuing.queues > 1
            distinguishes = schema.distinguisher if hashed else Distinguisher.NONE
            target = _Target(schema, level, max_seats.get(level.name), distinguishes, hashed)
            for rule in schema.rules:
                bit = 1 << len(self._targets_of_rules)
                self._targets_of_rules.append(target)
                for subject in rule.subjects:
                    self._add_subject(bit, subject)
                self._resource_rules.extend((bit, one) for one in rule.resource_rules)
                self._non_resource_rules.extend((bit, one) for one in rule.non_resource_rules)
        self._fallback = next(
            index
            for index, target in enumerate(self._targets_of_rules)
            if target.schema.name == CATCH_ALL
        )
        self._named_namespaces = {
            name for _, rule in self._resource_rules for name in rule.namespaces
        }
        self._subjects: dict[tuple[str, tuple[str, ...]], int] = {}
        self._targets: dict[tuple[str, ...], int] = {}
        self._flows: dict[tuple[int, str], Classified] = {}

    def remembered(self) -> int:
        """How many users, targets and flows are remembered."""
        return len(self._subjects) + len(self._targets) + len(self._flows)

    def classify(self, request: RequestDigest) -> Classified:
        """The class of a request.  Equal user, groups, verb and target give an equal answer.

        A user in neither ``system:authenticated`` nor ``system:unauthenticated`` may match no
        schema at all; its requests are of ``catch-all``.
        """
        who = (request.user, request.groups)
        subject = self._subjects.get(who)
        if subject is None:
            subject = keep(self._subjects, who, self._match_subject(*who), *_REMEMBERED)
        what = self._target_key(request)
        rules = self._targets.get(what)
        if rules is None:
            rules = keep(self._targets, what, self._match_target(request), *_REMEMBERED)
        both = subject & rules
        index = (both & -both).bit_length() - 1 if both else self._fallback
        target = self._targets_of_rules[index]
        if target.distinguishes is Distinguisher.BY_USER:
            distinguisher = request.user
        elif target.distinguishes is Distinguisher.BY_NAMESPACE:
            distinguisher = request.namespace
        else:
            distinguisher = ""
        classified = self._flows.get((index, distinguisher))
        if classified is None:
            name = target.schema.name
            classified = Classified(
                flow=Flow(
                    name, distinguisher, flow_hash(name, distinguisher) if target.hashed else 0
                ),
                level=target.level.name,
                schema_uid=target.schema.uid,
                level_uid=target.level.uid,
                max_seats=target.max_seats,
                generation=self._generation,
            )
            keep(self._flows, (index, distinguisher), classified, *_REMEMBERED)
        return classified

    def _add_subject(self, bit: int, subject: Subject) -> None:
        if subject.kind == "User":
            self._by_user[subject.name] = self._by_user.get(subject.name, 0) | bit
        elif subject.kind == "Group":
            self._by_group[subject.name] = self._by_group.get(subject.name, 0) | bit
        elif subject.kind == "ServiceAccount" and subject.name == ALL:
            self._service_accounts.append((bit, f"{_SERVICE_ACCOUNT}{subject.namespace}:"))
        elif subject.kind == "ServiceAccount":
            user = f"{_SERVICE_ACCOUNT}{subject.namespace}:{subject.name}"
            self._by_user[user] = self._by_user.get(user, 0) | bit

    def _match_subject(self, user: str, groups: tuple[str, ...]) -> int:
        bits = self._by_user.get(ALL, 0) | self._by_group.get(ALL, 0) | self._by_user.get(user, 0)
        for group in groups:
            bits |= self._by_group.get(group, 0)
        for bit, prefix in self._service_accounts:
            if user.startswith(prefix):
                bits |= bit
        return bits

    def _target_key(self, request: RequestDigest) -> tuple[str, ...]:
        if not request.is_resource:
            return request.verb, request.path
        namespace = request.namespace
        if namespace and namespace not in self._named_namespaces:
            namespace = ALL  # as good as any other that no rule names
        return (
            request.verb,
            request.api_group,
            request.resource,
            request.subresource,
            namespace,
        )

    def _match_target(self, request: RequestDigest) -> int:
        bits = 0
        if request.is_resource:
            for bit, rule in self._resource_rules:
                if not bits & bit and _matches_resource(rule, request):
                    bits |= bit
        else:
            for bit, other in self._non_resource_rules:
                if not bits & bit and _matches_path(other, request):
                    bits |= bit
        return bits


def _among(value: str, allowed: tuple[str, ...]) -> bool:
    return ALL in allowed or value in allowed


def _matches_resource(rule: ResourceRule, request: RequestDigest) -> bool:
    resource = request.resource
    if request.subresource:
        resource = f"{resource}/{request.subresource}"
    if not (
        _among(request.verb, rule.verbs)
        and _among(resource, rule.resources)
        and _among(request.api_group, rule.api_groups)
    ):
        return False
    if not request.namespace:
        return rule.cluster_scope
    return _among(request.namespace, rule.namespaces)


def _matches_path(rule: NonResourceRule, request: RequestDigest) -> bool:
    if not _among(request.verb, rule.verbs):
        return False
    for url in rule.urls:
        if url in (ALL, request.path):
            return True
        # A URL stands for all below it too: whole path segments, with or without the final "*".
        prefix = url.removesuffix(ALL)
        if request.path.startswith(prefix if prefix.endswith("/") else prefix + "/"):
            return True
    return False
