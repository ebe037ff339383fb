"""Check that the author of a policy may read its parameters: messages tell what a policy sees.

A policy needs ``get`` on all objects of its ``paramKind``; a binding needs ``get`` or ``list`` on
what its ``paramRef`` names.

Source: k8s.io/kubernetes/pkg/registry/admissionregistration/*/authz.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base
from kubetrio.machinery import identity
from kubetrio.machinery.asking import Authorize, verdict_of
from kubetrio.machinery.fielderrors import forbidden
from kubetrio.machinery.identity import MASTERS, Decision, UserInfo
from kubetrio.machinery.names import GroupKind, GroupResource, GroupVersion
from kubetrio.machinery.status import invalid
from kubetrio.plugins.policies.dependencies import BINDINGS
from kubetrio.plugins.policies.params import ConfigurationError, param_resource
from kubetrio.schema.registry import LiveRegistry

Object = Mapping[str, Any]

_GROUP = "admissionregistration.k8s.io"
_POLICY_OF = {binding: policy for policy, binding in BINDINGS.items()}
ANY = ("*", "*", "*")
"""Group, version and resource of parameters where it is not known what they are."""


class ParameterRights(Base):
    """The check, before everything else that validates: a storage of kube-apiserver does this.

    Args:
        lookup: reads policies.
        authorize: the server's authorizers.
        registry: knows the kinds of parameters.
    """

    name = "kubetrio:policy-parameters"
    resources = frozenset(GroupResource(_GROUP, name) for name in (*BINDINGS, *BINDINGS.values()))
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    about_own = False

    def __init__(self, lookup: Lookup, authorize: Authorize, registry: LiveRegistry) -> None:
        self._lookup = lookup
        self._authorize = authorize
        self._registry = registry

    async def validate(self, attributes: Attributes) -> None:
        """Refuse parameters that the user may not read.

        Raises:
            ApiError: 422.
        """
        obj = attributes.obj
        if obj is None or attributes.subresource or MASTERS in attributes.user.groups:
            return
        if attributes.resource.resource in BINDINGS:
            member = "paramKind"
            why = await self._about_policy(attributes.user, obj, attributes.old)
        else:
            member = "paramRef"
            policies = _POLICY_OF[attributes.resource.resource]
            why = await self._about_binding(attributes.user, obj, policies)
        if why:
            kind = GroupKind(_GROUP, attributes.resource.kind)
            raise invalid(kind, attributes.name, [forbidden(f"spec.{member}", why)])

    async def _about_policy(self, user: UserInfo, obj: Object, old: Object | None) -> str:
        kind = obj["spec"].get("paramKind")
        if kind is None or (old is not None and old["spec"].get("paramKind") == kind):
            return ""
        (group, version, resource), _ = self._resolved(kind)
        asked = identity.Attributes(
            user=user,
            verb="get",
            namespace="*",
            api_group=group,
            api_version=version,
            resource=resource,
            name="*",
        )
        verdict = await verdict_of(self._authorize, asked)
        if verdict.decision is Decision.ALLOW:
            return ""
        return verdict.error or (
            f'user {_shown(user)} must have "get" permission on all objects of the referenced '
            f"paramKind (kind={kind.get('kind') or ''}, apiVersion={kind.get('apiVersion') or ''})"
        )

    async def _about_binding(self, user: UserInfo, obj: Object, policies: str) -> str:
        """What is wrong; an update is asked about as a creation is, whatever it changes."""
        ref, policy_name = obj["spec"].get("paramRef"), obj["spec"].get("policyName") or ""
        if ref is None:
            return ""
        policy = await self._lookup.get(f"/registry/{policies}/{policy_name}")
        unknown, place = "", ANY
        if policy is None:
            unknown = f"unable to get policy {policy_name}"
        elif (kind := policy["spec"].get("paramKind")) is not None:
            place, unknown = self._resolved(kind)
        group, version, resource = place
        name = ref.get("name") or ""
        verb = "get" if name else "list"
        asked = identity.Attributes(
            user=user,
            verb=verb,
            namespace=ref.get("namespace") or "",
            api_group=group,
            api_version=version,
            resource=resource,
            name=name,
        )
        verdict = await verdict_of(self._authorize, asked)
        if verdict.decision is Decision.ALLOW:
            return ""
        if verdict.error:
            return f"failed to authorize request: {verdict.error}"
        lacks = f'user {_shown(user)} does not have "{verb}" permission'
        if unknown:
            return (
                f"{unknown} to determine minimum required permissions and {lacks} "
                "for all groups, versions and resources"
            )
        return f"{lacks} on the object referenced by paramRef"

    def _resolved(self, kind: Object) -> tuple[tuple[str, str, str], str]:
        """Group, version and resource of a kind as far as they are known, and what is not."""
        text = f"&{{{kind.get('apiVersion') or ''} {kind.get('kind') or ''}}}"
        try:
            group, version = GroupVersion.parse(kind.get("apiVersion") or "")
        except ValueError:
            return ANY, f"unable to parse paramKind {text}"
        try:
            resource = param_resource(self._registry, kind)
        except ConfigurationError:
            return (group, version, "*"), f"unable to resolve paramKind {text}"
        return (group, version, resource.resource), ""


def _shown(user: UserInfo) -> str:
    """A user as Go prints one with ``%v``."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
