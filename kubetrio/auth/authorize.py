"""Who may do what: authorizers in order, the first opinion counts.

``system:masters`` may do everything; beside that, the non-resource paths that Kubernetes' bootstrap
roles open to everybody.  Roles and bindings join the chain as one more authorizer.

Source: docs "Authorization Overview", "Using RBAC Authorization" (default roles).
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kubetrio.certificates import KUBELET_ADMINS
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import (
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Attributes,
    Decision,
    UserInfo,
    Verdict,
)
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, resource_details

NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)
NO_OPINION = Verdict(Decision.NO_OPINION, "")
ALLOWED = Verdict(Decision.ALLOW, "")


class Rules(NamedTuple):
    """What somebody may do.

    Args:
        resources: rules about resources, as SelfSubjectRulesReview has them.
        paths: rules about other paths.
        incomplete: whether there may be more.
        error: what went wrong; empty for nothing.
    """

    resources: tuple[Mapping[str, Any], ...] = ()
    paths: tuple[Mapping[str, Any], ...] = ()
    incomplete: bool = False
    error: str = ""


@runtime_checkable
class RuleLister(Protocol):
    """An authorizer that can list what somebody may do."""

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """What a user may do in a namespace."""
        ...


class Authorizer(Protocol):
    """One way to decide."""

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """What it thinks of a request, at once or later."""
        ...


class Masters:
    """``system:masters`` may do everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow members of the group."""
        return ALLOWED if MASTERS in attributes.user.groups else NO_OPINION


class PathRules:
    """Non-resource rules for groups, read from bootstrap roles.

    Args:
        rules: group name to paths that may be read; a trailing ``*`` matches any rest.
    """

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        self._rules = rules

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow GETs of open paths."""
        if attributes.resource_request or attributes.verb not in ("get", "head"):
            return NO_OPINION
        for group in attributes.user.groups:
            for pattern in self._rules.get(group, ()):
                if pattern == attributes.path or (
                    pattern.endswith("*") and attributes.path.startswith(pattern[:-1])
                ):
                    return ALLOWED
        return NO_OPINION


class RoleRules:
    """What a role allows the members of a group.

    Args:
        group: name of the group.
        rules: rules of the role, about resources without names.
    """

    def __init__(self, group: str, rules: Sequence[Mapping[str, Any]]) -> None:
        self._group = group
        self._allowed = frozenset(
            (verb, group, resource)
            for rule in rules
            for verb in rule.get("verbs", ())
            for group in rule.get("apiGroups", ())
            for resource in rule.get("resources", ())
        )

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what the role does."""
        if not attributes.resource_request or self._group not in attributes.user.groups:
            return NO_OPINION
        resource = attributes.resource
        if attributes.subresource:
            resource = f"{resource}/{attributes.subresource}"
        group = attributes.api_group
        if self._allowed.isdisjoint({(attributes.verb, group, resource), ("*", group, resource)}):
            return NO_OPINION
        return ALLOWED


def basic_user(objects: Mapping[str, Any]) -> RoleRules:
    """The authorizer of a fresh cluster's ``system:basic-user``: reviews of oneself.

    Args:
        objects: bootstrap objects by ``Kind name``.
    """
    return RoleRules(AUTHENTICATED, objects["ClusterRole system:basic-user"]["rules"])


def kubelet_admins(objects: Mapping[str, Any]) -> RoleRules:
    """What kubelets are answered that ask about the server itself, which connects to them.

    Args:
        objects: bootstrap objects by ``Kind name``.
    """
    return RoleRules(KUBELET_ADMINS, objects["ClusterRole system:kubelet-api-admin"]["rules"])


def bootstrap_paths(objects: Mapping[str, Any]) -> PathRules:
    """Open paths of a fresh cluster.

    Args:
        objects: bootstrap objects by ``Kind name``, as in ``schemas/bootstrap.json``.
    """

    def paths(role: str) -> list[str]:
        rules = objects[f"ClusterRole {role}"]["rules"]
        return [path for rule in rules for path in rule.get("nonResourceURLs", ())]

    public = paths("system:public-info-viewer")
    return PathRules(
        {UNAUTHENTICATED: public, AUTHENTICATED: [*public, *paths("system:discovery")]}
    )


class Chain:
    """Authorizers in order.

    It answers at once as long as those do that it asks.

    Args:
        authorizers: asked one after the other until one has an opinion.
    """

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self.authorizers = tuple(authorizers)

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """The first opinion; with none, what everybody said of it."""
        unsure: list[Verdict] = []
        for at, authorizer in enumerate(self.authorizers):
            verdict = authorizer.authorize(attributes)
            if not isinstance(verdict, Verdict):
                return self._later(attributes, at, verdict, unsure)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict is not NO_OPINION:
                unsure.append(verdict)
        return _no_opinion(unsure)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """What all of them list."""
        found = [
            one.rules_for(user, namespace)
            for one in self.authorizers
            if isinstance(one, RuleLister)
        ]
        return Rules(
            tuple(rule for rules in found for rule in rules.resources),
            tuple(rule for rules in found for rule in rules.paths),
            any(rules.incomplete for rules in found),
            aggregated(rules.error for rules in found),
        )

    async def _later(
        self, attributes: Attributes, at: int, asked: Awaitable[Verdict], unsure: list[Verdict]
    ) -> Verdict:
        """The rest of the chain, from one on that is waited for."""
        verdict = await asked
        while verdict.decision is Decision.NO_OPINION:
            unsure.append(verdict)
            at += 1
            if at == len(self.authorizers):
                return _no_opinion(unsure)
            answer = self.authorizers[at].authorize(attributes)
            verdict = answer if isinstance(answer, Verdict) else await answer
        return verdict


def _no_opinion(unsure: Sequence[Verdict]) -> Verdict:
    """What the client is told when nobody had an opinion."""
    if not unsure:
        return NO_OPINION
    reason = "\n".join(one.reason for one in unsure if one.reason)
    return Verdict(Decision.NO_OPINION, reason, aggregated(one.error for one in unsure))


def aggregated(errors: Iterable[str]) -> str:
    """Several errors as one text, each once; empty for none."""
    told = list(dict.fromkeys(filter(None, errors)))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def sanitized(text: str) -> str:
    """A text that shows what a client sent, so that no browser takes it for HTML."""
    return text.translate(_ESCAPED)


def forbidden(attributes: Attributes, reason: str = "") -> ApiError:
    """403 in kube-apiserver's words."""
    user, verb = quote(attributes.user.name), attributes.verb
    why = f": {reason}" if reason else ""
    if not attributes.resource_request:
        said = sanitized(f"User {user} cannot {verb} path {quote(attributes.path)}")
        return ApiError(403, "Forbidden", f"forbidden: {said}{why}", {}, headers=NOSNIFF)
    resource = GroupResource(attributes.api_group, attributes.resource)
    subject = f'{resource} "{attributes.name}"' if attributes.name else str(resource)
    path = attributes.resource
    if attributes.subresource:
        path = f"{path}/{attributes.subresource}"
    where = (
        f"in the namespace {quote(attributes.namespace)}"
        if attributes.namespace
        else "at the cluster scope"
    )
    said = sanitized(
        f"User {user} cannot {verb} resource {quote(path)} "
        f"in API group {quote(attributes.api_group)} {where}"
    )
    details = resource_details(resource, attributes.name)
    message = f"{subject} is forbidden: {said}{why}"
    return ApiError(403, "Forbidden", message, details, headers=NOSNIFF)
