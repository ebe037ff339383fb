"""What a rule allows, and which rules contain others.

Source: docs "Using RBAC Authorization"; k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go,
k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.machinery.identity import Attributes, UserInfo

Object = Mapping[str, Any]

ALL = "*"
GROUP = "rbac.authorization.k8s.io"
FULL_AUTHORITY: tuple[Object, ...] = (
    {"verbs": [ALL], "apiGroups": [ALL], "resources": [ALL]},
    {"verbs": [ALL], "nonResourceURLs": [ALL]},
)
"""What setting an aggregation rule takes: it can gather anything."""

SERVICE_ACCOUNT = "system:serviceaccount:"


class Rule(NamedTuple):
    """A rule with its lists as sets.

    Args:
        verbs: of requests.
        groups: API groups.
        resources: plural names, with subresources behind a slash.
        names: of objects; empty for all.
        paths: that are no resources.
    """

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    paths: tuple[str, ...]


def rule_of(value: Object) -> Rule:
    """A rule as it is stored, read."""
    return Rule(
        frozenset(value.get("verbs") or ()),
        frozenset(value.get("apiGroups") or ()),
        frozenset(value.get("resources") or ()),
        frozenset(value.get("resourceNames") or ()),
        tuple(value.get("nonResourceURLs") or ()),
    )


def allows_resource(rule: Rule, asked: Attributes) -> bool:
    """Whether a rule is about a resource request, but for the name of the object."""
    if rule.verbs.isdisjoint((asked.verb, ALL)) or rule.groups.isdisjoint((asked.api_group, ALL)):
        return False
    below = asked.subresource
    if not below:
        return not rule.resources.isdisjoint((asked.resource, ALL))
    return not rule.resources.isdisjoint((f"{asked.resource}/{below}", f"*/{below}", ALL))


def allows_path(rule: Rule, asked: Attributes) -> bool:
    """Whether a rule allows a request that is about no resource."""
    if rule.verbs.isdisjoint((asked.verb, ALL)):
        return False
    return any(path_covers(pattern, asked.path) for pattern in rule.paths)


def path_covers(pattern: str, path: str) -> bool:
    """Whether a pattern means a path, or whatever another pattern means."""
    if pattern == path:
        return True
    return pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL))


def applies_to(user: UserInfo, subject: Object, namespace: str) -> bool:
    """Whether a subject of a binding is a user.

    Args:
        user: who asks.
        subject: of a binding.
        namespace: of the binding, empty for one of the cluster.
    """
    kind, name = subject.get("kind"), subject.get("name") or ""
    if kind == "User":
        return user.name == name
    if kind == "Group":
        return name in user.groups
    if kind == "ServiceAccount":
        home = subject.get("namespace") or namespace
        return bool(home) and user.name == f"{SERVICE_ACCOUNT}{home}:{name}"
    return False


def breakdown(rules: Iterable[Object]) -> Iterable[Object]:
    """Rules of one verb, one resource and one name, or one path, each that mean the same."""
    for rule in rules:
        verbs = rule.get("verbs") or ()
        names = rule.get("resourceNames") or ()
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for verb in verbs:
                    one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                    if not names:
                        yield one
                    for name in names:
                        yield {**one, "resourceNames": [name]}
        for path in rule.get("nonResourceURLs") or ():
            for verb in verbs:
                yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers_one(owner: Rule, wanted: Rule) -> bool:
    """Whether a rule contains one of `breakdown`."""
    return (
        (ALL in owner.verbs or owner.verbs >= wanted.verbs)
        and (ALL in owner.groups or owner.groups >= wanted.groups)
        and all(_covers_resource(owner.resources, resource) for resource in wanted.resources)
        and all(any(path_covers(own, path) for own in owner.paths) for path in wanted.paths)
        and (not owner.names or (bool(wanted.names) and owner.names >= wanted.names))
    )


def _covers_resource(owned: frozenset[str], resource: str) -> bool:
    if not owned.isdisjoint((ALL, resource)):
        return True
    _, slash, below = resource.partition("/")
    return bool(slash) and f"*/{below}" in owned


def missing(owned: Sequence[Object], wanted: Iterable[Object]) -> list[Object]:
    """What of some rules is not contained in others, broken down.

    Args:
        owned: rules that a user has.
        wanted: rules that are compared with them.
    """
    own = [rule_of(rule) for rule in owned]
    absent: list[Object] = []
    for one in breakdown(wanted):
        rule = rule_of(one)
        if not any(_covers_one(owner, rule) for owner in own):
            absent.append(one)
    return absent


def same_rules(one: Sequence[Object], other: Sequence[Object]) -> bool:
    """Whether lists of rules say the same in the same order; absent and empty are the same."""
    return len(one) == len(other) and all(map(same_rule, one, other))


def same_rule(one: Object, other: Object) -> bool:
    """Whether two rules say the same; absent and empty lists are the same."""
    names = one.keys() | other.keys()
    return all((one.get(name) or []) == (other.get(name) or []) for name in names)
