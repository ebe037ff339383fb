"""Who may do what: authorizers in order, the first opinion counts.

Source: docs "Authorization Overview"; k8s.io/apiserver/pkg/authorization/union.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import MASTERS, Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, resource_details
from kubetrio.machinery.waiting import Walk, run
from kubetrio.tls.certificates import KUBELET_ADMINS

Object = dict[str, Any]

NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)
NO_OPINION = Verdict(Decision.NO_OPINION, "")
ALLOWED = Verdict(Decision.ALLOW, "")


class Authorizer(Protocol):
    """One way to decide."""

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """What it thinks of a request; where it has to wait, what gives that."""
        ...


class Rules(NamedTuple):
    """What a user may do in a namespace, as a SelfSubjectRulesReview has it.

    Args:
        resources: ``ResourceRule`` objects.
        paths: ``NonResourceRule`` objects.
        incomplete: whether there may be more.
        error: why, or what went wrong.
    """

    resources: Sequence[Object] = ()
    paths: Sequence[Object] = ()
    incomplete: bool = False
    error: str = ""


@runtime_checkable
class RuleLister(Protocol):
    """An authorizer that can list what a user may do."""

    def rules_for(self, user: UserInfo, namespace: str) -> Rules | Awaitable[Rules]:
        """Return what it lets a user do."""
        ...


class Masters:
    """``system:masters`` may do everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow members of the group."""
        return ALLOWED if MASTERS in attributes.user.groups else NO_OPINION


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


def kubelet_admins(objects: Mapping[str, Any]) -> RoleRules:
    """What kubelets are answered that ask about the server itself, which connects to them.

    Args:
        objects: bootstrap objects by ``Kind name``.
    """
    return RoleRules(KUBELET_ADMINS, objects["ClusterRole system:kubelet-api-admin"]["rules"])


class Chain:
    """Authorizers in order.

    Args:
        authorizers: asked one after the other until one has an opinion.
    """

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self.authorizers = tuple(authorizers)

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """The first opinion; none at all means no.  Waits only where an authorizer does."""
        return _decided(self.authorizers, attributes, [])

    def rules_for(self, user: UserInfo, namespace: str) -> Rules | Awaitable[Rules]:
        """Return what all authorizers together let a user do."""
        return run(self._all_rules(user, namespace))

    def _all_rules(self, user: UserInfo, namespace: str) -> Walk[Rules]:
        resources: list[Object] = []
        paths: list[Object] = []
        errors: list[str] = []
        incomplete = False
        for authorizer in self.authorizers:
            if not isinstance(authorizer, RuleLister):
                continue
            rules = authorizer.rules_for(user, namespace)
            if not isinstance(rules, Rules):
                rules = yield rules
            resources += rules.resources
            paths += rules.paths
            incomplete = incomplete or rules.incomplete
            if rules.error:
                errors.append(rules.error)
        return Rules(resources, paths, incomplete, aggregate(errors))


def _decided(
    authorizers: Sequence[Authorizer], attributes: Attributes, unsure: list[Verdict]
) -> Verdict | Awaitable[Verdict]:
    """The first opinion of authorizers, behind those that were asked and have none."""
    for at, authorizer in enumerate(authorizers):
        verdict = authorizer.authorize(attributes)
        if verdict is NO_OPINION:
            continue
        if not isinstance(verdict, Verdict):
            return _decided_later(verdict, authorizers[at + 1 :], attributes, unsure)
        if verdict.decision is not Decision.NO_OPINION:
            return verdict
        unsure.append(verdict)
    if not unsure:
        return NO_OPINION
    reasons = "\n".join(verdict.reason for verdict in unsure if verdict.reason)
    errors = [verdict.error for verdict in unsure if verdict.error]
    return Verdict(Decision.NO_OPINION, reasons, aggregate(errors))


async def _decided_later(
    asked: Awaitable[Verdict],
    rest: Sequence[Authorizer],
    attributes: Attributes,
    unsure: list[Verdict],
) -> Verdict:
    verdict = await asked
    if verdict.decision is not Decision.NO_OPINION:
        return verdict
    unsure.append(verdict)
    decision = _decided(rest, attributes, unsure)
    return decision if isinstance(decision, Verdict) else await decision


TOLD_CHARS = 4096
"""Of a path or a name that strangers sent, told back to them."""


def sanitized(text: str) -> str:
    """A text that shows what a client sent, so that no browser takes it for HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def told(text: str) -> str:
    """Return what a refusal tells back of a text that the client sent.

    Strangers send 100 KB, which take nine times that as HTML in JSON.
    """
    return text if len(text) <= TOLD_CHARS else f"{text[:TOLD_CHARS]}..."


def forbidden(attributes: Attributes, reason: str = "") -> ApiError:
    """403 in kube-apiserver's words."""
    user, verb = quote(attributes.user.name), attributes.verb
    why = f": {reason}" if reason else ""
    if not attributes.resource_request:
        text = sanitized(f"User {user} cannot {verb} path {quote(told(attributes.path))}")
        return ApiError(403, "Forbidden", f"forbidden: {text}{why}", {}, headers=NOSNIFF)
    resource = GroupResource(told(attributes.api_group), told(attributes.resource))
    name = told(attributes.name)
    subject = f'{resource} "{name}"' if name else str(resource)
    path = resource.resource
    if attributes.subresource:
        path = f"{path}/{told(attributes.subresource)}"
    where = (
        f"in the namespace {quote(told(attributes.namespace))}"
        if attributes.namespace
        else "at the cluster scope"
    )
    text = sanitized(
        f"User {user} cannot {verb} resource {quote(path)} "
        f"in API group {quote(resource.group)} {where}"
    )
    details = resource_details(resource, name)
    message = f"{subject} is forbidden: {text}{why}"
    return ApiError(403, "Forbidden", message, details, headers=NOSNIFF)
