"""NamespaceLifecycle: content lives in namespaces that exist and are not going away.

Source: docs "Admission control", NamespaceLifecycle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, Cause, forbidden, not_found

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
NAMESPACES = GroupResource("", "namespaces")

# The phase of a namespace, None when there is none of that name.
NamespacePhase = Callable[[str], Awaitable[str | None]]


class NamespaceLifecycle(Base):
    """The plugin.

    Args:
        phase: looks a namespace up, always live.
    """

    name = "NamespaceLifecycle"
    operations = frozenset({Operation.CREATE, Operation.DELETE})

    def __init__(self, phase: NamespacePhase) -> None:
        self._phase = phase

    async def mutate(self, attributes: Attributes) -> None:
        """Check before anything else looks at the object: the answer must not depend on it."""
        resource = attributes.resource
        if attributes.operation is Operation.DELETE:
            if resource.group_resource == NAMESPACES and attributes.name in IMMORTAL:
                raise forbidden(NAMESPACES, attributes.name, "this namespace may not be deleted")
            return
        if not resource.namespaced or resource.group == "authorization.k8s.io":
            return
        namespace = attributes.namespace
        phase = await self._phase(namespace)
        if phase is None:
            raise not_found(NAMESPACES, namespace)
        if phase == "Terminating" and not attributes.subresource:
            raise self._terminating(attributes)

    @staticmethod
    def _terminating(attributes: Attributes) -> ApiError:
        namespace = attributes.namespace
        error = forbidden(
            attributes.resource.group_resource,
            attributes.name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
        )
        cause = Cause(
            "NamespaceTerminating",
            f"namespace {namespace} is being terminated",
            "metadata.namespace",
        )
        error.details = {**(error.details or {}), "causes": [cause.as_dict()]}
        return error
