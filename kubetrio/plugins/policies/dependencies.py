"""What admission policies need of the server, and what they are never asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.env import RunBlocking
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]

VALIDATING, MUTATING = "validatingadmissionpolicies", "mutatingadmissionpolicies"
BINDINGS = {
    VALIDATING: "validatingadmissionpolicybindings",
    MUTATING: "mutatingadmissionpolicybindings",
}

_EXEMPT = frozenset(
    GroupResource(group, name)
    for group, names in (
        ("admissionregistration.k8s.io", (*BINDINGS, *BINDINGS.values())),
        ("authentication.k8s.io", ("selfsubjectreviews", "tokenreviews")),
        (
            "authorization.k8s.io",
            (
                "localsubjectaccessreviews",
                "selfsubjectaccessreviews",
                "selfsubjectrulesreviews",
                "subjectaccessreviews",
            ),
        ),
    )
    for name in names
)
"""What no policy is asked about: the author of a bad policy must be able to take it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDependencies:
    """What policies need of the server.

    Args:
        lookup: knows policies and bindings.
        cache: reads namespaces and parameters.
        authorize: the server's authorizers.
        registry: knows the kinds of parameters.
        thread: runs evaluations that take long for the event loop.
    """

    lookup: Lookup
    cache: ObjectCache
    authorize: Authorize
    registry: LiveRegistry
    thread: RunBlocking

    async def unconcerned(self, collection: str, attributes: Attributes) -> bool:
        """Whether the policies of a collection have nothing to do with a request."""
        if attributes.resource.group_resource in _EXEMPT:
            return True
        return not await self.lookup.all(collection)
