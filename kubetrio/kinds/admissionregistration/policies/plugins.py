"""The plugins of admission policies: shells that ask for the real thing when there is a policy.

Until then neither the CEL engine nor the protobuf runtime is imported, and a write costs one look
at an empty mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.plugin import Base
from kubetrio.machinery.identity import Attributes as Asked
from kubetrio.machinery.identity import Verdict
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]
Authorize = Callable[[Asked], Verdict]

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
"""What no policy is asked about: whoever writes a bad policy must be able to take it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What policies need of the server.

    Args:
        lookup: knows policies and bindings.
        cache: reads namespaces and parameters.
        authorize: the server's authorizers.
        registry: knows the kinds of parameters.
    """

    lookup: Lookup
    cache: ObjectCache
    authorize: Authorize
    registry: LiveRegistry

    def idle(self, collection: str) -> bool:
        """Whether it is known that a collection is empty."""
        known = self.lookup.known(collection)
        return known is not None and not known

    async def unconcerned(self, collection: str, attributes: Attributes) -> bool:
        """Whether the policies of a collection have nothing to do with a request."""
        if attributes.resource.group_resource in _EXEMPT:
            return True
        return not await self.lookup.all(collection)


class ValidatingAdmissionPolicy(Base):
    """Refuses what policies refuse.

    Args:
        surroundings: the server.
    """

    name = "ValidatingAdmissionPolicy"
    operations = frozenset(Operation)
    about_own = False

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._validate: Callable[[Attributes], Any] | None = None

    async def validate(self, attributes: Attributes) -> None:
        """Ask the policies.

        Raises:
            ApiError: the first refusal; 500 where there are policies and no engine.
        """
        around = self._surroundings
        if around.idle(VALIDATING) or await around.unconcerned(VALIDATING, attributes):
            return
        if self._validate is None:
            from kubetrio.kinds.admissionregistration.policies.validating import ValidatingPolicies

            self._validate = ValidatingPolicies(around).validate
        await self._validate(attributes)


class MutatingAdmissionPolicy(Base):
    """Changes what policies change.

    Args:
        surroundings: the server.
    """

    name = "MutatingAdmissionPolicy"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.CONNECT})
    about_own = False

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._mutate: Callable[[Attributes], Any] | None = None

    async def mutate(self, attributes: Attributes) -> None:
        """Let the policies have their way.

        Raises:
            ApiError: a policy cannot be carried out; 500 where there are some and no engine.
        """
        around = self._surroundings
        if around.idle(MUTATING) or await around.unconcerned(MUTATING, attributes):
            return
        if self._mutate is None:
            from kubetrio.kinds.admissionregistration.policies.mutating import MutatingPolicies

            self._mutate = MutatingPolicies(around).mutate
        await self._mutate(attributes)
