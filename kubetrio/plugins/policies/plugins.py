"""The plugins of admission policies: shells that ask for the real thing when there is a policy.

Until then neither the CEL engine nor the protobuf runtime is imported, and a write costs one look
at an empty mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.observe import prometheus
from kubetrio.plugins.policies import checks
from kubetrio.plugins.policies.checks import PolicyChecks
from kubetrio.plugins.policies.dependencies import MUTATING, VALIDATING, PolicyDependencies


class ValidatingAdmissionPolicy(Base):
    """Refuses what policies refuse.

    Args:
        dependencies: the server.
    """

    name = "ValidatingAdmissionPolicy"
    operations = frozenset(Operation)
    about_own = False

    def __init__(self, dependencies: PolicyDependencies) -> None:
        self._dependencies = dependencies
        self._validate: Callable[[Attributes], Any] | None = None
        self._checks = PolicyChecks(checks.VALIDATING)

    def families(self) -> Iterator[prometheus.Metric]:
        """What came of expressions, as metrics."""
        return self._checks.families()

    async def validate(self, attributes: Attributes) -> None:
        """Ask the policies.

        Raises:
            ApiError: the first refusal; 500 where there are policies and no engine.
        """
        dependencies = self._dependencies
        if VALIDATING in dependencies.lookup.empty:
            return
        if await dependencies.unconcerned(VALIDATING, attributes):
            return
        if self._validate is None:
            from kubetrio.plugins.policies.validating import ValidatingPolicies

            self._validate = ValidatingPolicies(dependencies, self._checks).validate
        await self._validate(attributes)


class MutatingAdmissionPolicy(Base):
    """Changes what policies change.

    Args:
        dependencies: the server.
    """

    name = "MutatingAdmissionPolicy"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.CONNECT})
    about_own = False

    def __init__(self, dependencies: PolicyDependencies) -> None:
        self._dependencies = dependencies
        self._mutate: Callable[[Attributes], Any] | None = None
        self._checks = PolicyChecks(checks.MUTATING)

    def families(self) -> Iterator[prometheus.Metric]:
        """What came of mutations, as metrics."""
        return self._checks.families()

    async def mutate(self, attributes: Attributes) -> None:
        """Let the policies have their way.

        Raises:
            ApiError: a policy cannot be carried out; 500 where there are some and no engine.
        """
        dependencies = self._dependencies
        if MUTATING in dependencies.lookup.empty:
            return
        if await dependencies.unconcerned(MUTATING, attributes):
            return
        if self._mutate is None:
            from kubetrio.plugins.policies.mutating import MutatingPolicies

            self._mutate = MutatingPolicies(dependencies, self._checks).mutate
        await self._mutate(attributes)
