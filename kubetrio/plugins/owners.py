"""OwnerReferencesPermissionEnforcement: only who may delete an object says who owns it.

Source: docs "Admission Control in Kubernetes" (OwnerReferencesPermissionEnforcement), "Garbage
Collection" (blocking the deletion of owners).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import Base, denied
from kubetrio.machinery import identity
from kubetrio.machinery.asking import Authorize, allowed, verdict_of
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import Decision
from kubetrio.machinery.names import GroupVersion
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
NIL = "<nil>"


class OwnerReferencesPermissionEnforcement(Base):
    """The plugin.

    Args:
        authorize: the server's authorizers.
        registry: knows the resources of owners.
    """

    name = "OwnerReferencesPermissionEnforcement"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, authorize: Authorize, registry: LiveRegistry) -> None:
        self._authorize = authorize
        self._registry = registry

    async def validate(self, attributes: Attributes) -> None:
        """Refuse changed owners, and owners whose deletion is blocked.

        Raises:
            ApiError: 403.
        """
        resource = attributes.resource
        if resource.group_resource == PODS and attributes.subresource == "status":
            return
        new, old = _owners(attributes.obj), _owners(attributes.old)
        if new == old:
            return
        if attributes.operation is not Operation.CREATE:
            verdict = await verdict_of(
                self._authorize,
                identity.Attributes(
                    user=attributes.user,
                    verb="delete",
                    namespace=attributes.namespace,
                    api_group=resource.group,
                    api_version=resource.version,
                    resource=resource.group_resource.resource,
                    subresource=attributes.subresource,
                    name=attributes.name,
                ),
            )
            if verdict.decision is not Decision.ALLOW:
                raise denied(
                    attributes,
                    "cannot set an ownerRef on a resource you can't delete: "
                    f"{verdict.reason}, {verdict.error or NIL}",
                )
        blocked_before = {owner["uid"] for owner in old if owner.get("blockOwnerDeletion")}
        blocking = [
            owner
            for owner in new
            if owner.get("blockOwnerDeletion") and owner["uid"] not in blocked_before
        ]
        if blocking and not await allowed(self._authorize, _anything(attributes)):
            for owner in blocking:
                await self._may_block(attributes, owner)

    async def _may_block(self, attributes: Attributes, owner: Object) -> None:
        blocking = False
        for asked in self._finalizers(attributes, owner):
            blocking = True
            verdict = await verdict_of(self._authorize, asked)
            if verdict.decision is not Decision.ALLOW:
                raise denied(
                    attributes,
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource "
                    f"you can't set finalizers on: {verdict.reason}, {verdict.error or NIL}",
                )
        if not blocking:
            version, kind = owner["apiVersion"], owner["kind"]
            raise denied(
                attributes,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                f"APIVersion {version} Kind {kind}: no matches for kind {quote(kind)} "
                f"in version {quote(version)}",
            )

    def _finalizers(self, attributes: Attributes, owner: Object) -> Iterator[identity.Attributes]:
        group, version = GroupVersion.parse(owner["apiVersion"])
        for kind in self._registry.resources.values():
            if (kind.group, kind.version, kind.kind) == (group, version, owner["kind"]):
                yield identity.Attributes(
                    user=attributes.user,
                    verb="update",
                    namespace=attributes.namespace if kind.namespaced else "",
                    api_group=group,
                    api_version=version,
                    resource=kind.group_resource.resource,
                    subresource="finalizers",
                    name=owner["name"],
                )


def _owners(obj: Object | None) -> list[Object]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or []


def _anything(attributes: Attributes) -> identity.Attributes:
    """Whether a user may set finalizers on everything."""
    return identity.Attributes(
        user=attributes.user,
        verb="update",
        api_group="*",
        api_version="*",
        resource="*",
        subresource="finalizers",
        name="*",
    )


def owners(context: PluginContext) -> Plugin:
    """Make the plugin OwnerReferencesPermissionEnforcement."""
    return OwnerReferencesPermissionEnforcement(context.server.authorize, context.server.registry)
