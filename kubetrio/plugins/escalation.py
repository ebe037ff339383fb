"""Check that users grant only what they hold.

The author of a role needs all of its rules, or the right to ``escalate`` it; the author of a
binding needs all rules of its role, or the right to ``bind`` it.

Source: docs "Using RBAC Authorization" (privilege escalation prevention and bootstrapping);
k8s.io/kubernetes/pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.auth.rbac.authorizer import Rbac, RoleError
from kubetrio.auth.rbac.matching import FULL_AUTHORITY, GROUP, missing
from kubetrio.gotext.text import aggregate
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import MASTERS, Decision, Verdict
from kubetrio.machinery.identity import Attributes as Asked
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, bad_request, forbidden, not_found

Object = Mapping[str, Any]

ROLES = frozenset(GroupResource(GROUP, name) for name in ("roles", "clusterroles"))
BINDINGS = frozenset(GroupResource(GROUP, name) for name in ("rolebindings", "clusterrolebindings"))
AGGREGATION = "must have cluster-admin privileges to use the aggregationRule"
# What the garbage collector writes, and what changes with every write.
_INCIDENTAL = frozenset({"ownerReferences", "finalizers", "selfLink", "managedFields"})


class EscalationCheck(Base):
    """The check, as the last of what mutates: it sees what will be validated and stored.

    Args:
        rbac: knows rules.
        authorize: the server's authorizers.
    """

    name = "kubetrio:rbac-escalation"
    resources = ROLES | BINDINGS
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    about_own = False

    def __init__(self, rbac: Rbac, authorize: Authorize) -> None:
        self._rbac = rbac
        self._authorize = authorize

    async def mutate(self, attributes: Attributes) -> None:
        """Refuse to grant what the user does not hold; changes nothing.

        Raises:
            ApiError: 403; 404, a binding is for a role that is not there.
        """
        obj, old = attributes.obj, attributes.old
        if obj is None or MASTERS in attributes.user.groups:
            return
        if attributes.resource.group_resource in ROLES:
            if not await self._may_escalate(attributes):
                self._check_role(attributes, obj, old)
        elif not _incidental(obj, old) and not await self._may_bind(attributes, obj["roleRef"]):
            self._check_binding(attributes, obj)

    def _check_role(self, attributes: Attributes, obj: Object, old: Object | None) -> None:
        if _incidental(obj, old):
            return
        self._confirm(attributes, obj, obj.get("rules") or ())
        if _aggregates(obj) or (old is not None and _aggregates(old)):
            try:
                self._confirm(attributes, obj, FULL_AUTHORITY)
            except ApiError:
                raise _refused(attributes, obj, AGGREGATION) from None

    def _check_binding(self, attributes: Attributes, obj: Object) -> None:
        reference = obj["roleRef"]
        try:
            rules = self._rbac.role_rules(reference, attributes.namespace)
        except RoleError as error:
            kind = reference.get("kind") or ""
            if kind not in ("Role", "ClusterRole"):
                raise ApiError(500, "", str(error)) from None
            name = reference.get("name") or ""
            if kind == "Role" and not attributes.namespace:
                raise bad_request("Namespace parameter required.") from None
            if not name:
                raise bad_request("Name parameter required.") from None
            # Named as what is written, with the name of what is missing: so upstream.
            raise not_found(attributes.resource.group_resource, name) from None
        self._confirm(attributes, obj, rules)

    def _confirm(self, attributes: Attributes, obj: Object, rules: Iterable[Object]) -> None:
        """Refuse rules that the user does not hold.

        Raises:
            ApiError: 403.
        """
        user, errors = attributes.user, list[RoleError]()
        absent = missing(self._rbac.rules(user, attributes.namespace, errors), rules)
        if not absent:
            return
        told = "\n".join(sorted({_shown(rule) for rule in compacted(absent)}))
        why = (
            f"user {quote(user.name)} (groups={_list(user.groups)}) is attempting to grant RBAC "
            f"permissions not currently held:\n{told}"
        )
        if errors:
            resource = attributes.resource.group_resource
            told_errors = aggregate(_resolution(resource, error) for error in errors)
            why += f"; resolution errors: [{told_errors}]"
        raise _refused(attributes, obj, why)

    async def _may_escalate(self, attributes: Attributes) -> bool:
        resource = attributes.resource
        return await self._may(
            Asked(
                user=attributes.user,
                verb="escalate",
                api_group=resource.group,
                api_version="*",
                resource=resource.resource,
                name=attributes.name if attributes.operation is Operation.UPDATE else "",
                namespace=attributes.namespace,
            )
        )

    async def _may_bind(self, attributes: Attributes, reference: Object) -> bool:
        kind = reference.get("kind") or ""
        if kind not in ("Role", "ClusterRole"):
            return False
        return await self._may(
            Asked(
                user=attributes.user,
                verb="bind",
                api_group=reference.get("apiGroup") or "",
                api_version="*",
                resource=f"{kind.lower()}s",
                name=reference.get("name") or "",
                namespace=attributes.namespace,
            )
        )

    async def _may(self, asked: Asked) -> bool:
        verdict = self._authorize(asked)
        if not isinstance(verdict, Verdict):
            verdict = await verdict
        return verdict.decision is Decision.ALLOW


def _resolution(written: GroupResource, error: RoleError) -> str:
    """A missing role as upstream tells of it here: as one of what is written."""
    if not error.missing:
        return str(error)
    return not_found(written, error.missing).message


def _refused(attributes: Attributes, obj: Object, why: str) -> ApiError:
    name = obj["metadata"].get("name") or ""
    return forbidden(attributes.resource.group_resource, name, why)


def _aggregates(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _incidental(obj: Object, old: Object | None) -> bool:
    """Whether an update changes nothing but what garbage collection does."""
    if old is None:
        return False

    def rest(one: Object) -> Object:
        meta = {key: value for key, value in one["metadata"].items() if key not in _INCIDENTAL}
        return {**one, "metadata": {key: value for key, value in meta.items() if value}}

    return rest(obj) == rest(old)


def compacted(rules: Iterable[Object]) -> list[Object]:
    """Broken down rules, with those joined that differ in their verbs only."""
    rules_out: list[Object] = []
    joined: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for rule in rules:
        if "nonResourceURLs" in rule:
            rules_out.append(rule)
            continue
        names = rule.get("resourceNames") or ()
        key = (rule["apiGroups"][0], rule["resources"][0], *names)
        same = joined.get(key)
        if same is None:
            joined[key] = {name: list(value) for name, value in rule.items()}
        else:
            same["verbs"] += rule["verbs"]
    return [*rules_out, *joined.values()]


def _shown(rule: Object) -> str:
    """A rule as refusals print it."""
    parts = (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    )
    shown = ", ".join(f"{title}:{_list(rule[key])}" for title, key in parts if rule.get(key))
    return f"{{{shown}}}"


def _list(values: Iterable[str]) -> str:
    return f"[{' '.join(quote(value) for value in values)}]"
