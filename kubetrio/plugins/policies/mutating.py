"""MutatingAdmissionPolicy: expressions that make patches of what is written.

Policies are carried out in order of their names.  A change lets the in-tree plugins look at the
object once more, and then the policies that ask for it (``reinvocationPolicy: IfNeeded``) where
something changed behind them.  What a policy sets has no owner.

Source: docs "Mutating Admission Policy"; KEP-3962.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import denied
from kubetrio.cel.programs import Inputs
from kubetrio.env import monotonic
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.dynamic.answers import Answers, answers_of
from kubetrio.plugins.dynamic.inputs import inputs_of
from kubetrio.plugins.dynamic.objects import object_kind, put_back, read_back, shown
from kubetrio.plugins.policies.checks import PolicyChecks
from kubetrio.plugins.policies.dependencies import MUTATING, PolicyDependencies
from kubetrio.plugins.policies.mutations import MutationError, Mutations
from kubetrio.plugins.policies.policies import Invocation, PolicySource

Object = dict[str, Any]

Key = tuple[str, str, str, str]
"""An invocation: policy, binding, namespace and name of the parameters."""


@dataclass(slots=True)
class _Memory:
    """What is known of the first time when mutating plugins look again.

    Args:
        invoked: what ran and may run again.
        again: what has to.
        last: the object as this plugin left it.
    """

    invoked: set[Key] = field(default_factory=set)
    again: set[Key] = field(default_factory=set)
    last: Object | None = None

    def changed(self) -> None:
        """Something changed: whatever ran before and may run again has to."""
        self.again |= self.invoked
        self.invoked.clear()


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a policy could not be carried out.

    Args:
        invocation: of what.
        text: why.
        reason: of the Status; empty for that of a refusal.
    """

    invocation: Invocation[Mutations]
    text: str
    reason: str = ""

    @property
    def message(self) -> str:
        """The whole sentence."""
        name, binding = self.invocation.policy.name, self.invocation.binding
        if binding is None:
            return f'policy "{name}" denied request: {self.text}'
        return f"policy '{name}' with binding '{binding.name}' denied request: {self.text}"


class MutatingPolicies:
    """The policies of one server.

    Args:
        dependencies: the server.
        checks: counts what comes of mutations.
    """

    def __init__(self, dependencies: PolicyDependencies, checks: PolicyChecks) -> None:
        self._checks = checks
        self._authorize = dependencies.authorize
        self._thread = dependencies.thread
        self._source = PolicySource(dependencies, MUTATING, Mutations)

    async def mutate(self, attributes: Attributes) -> None:
        """Change the object as policies say.

        Raises:
            ApiError: a policy that must be carried out cannot be; 500 without an engine.
        """
        memory: _Memory = attributes.memory.setdefault(MUTATING, _Memory())
        if attributes.repeating and memory.last != attributes.obj:
            memory.changed()
        problems: list[_Problem] = []
        answers = answers_of(attributes.memory, self._authorize, self._thread)
        namespace: Object | None = None
        asked = False
        for invocation in await self._source.invocations(attributes):
            if invocation.error:
                problems.append(_Problem(invocation, invocation.error))
                continue
            if not asked:
                namespace, asked = await self._source.namespace(attributes), True
            for params in invocation.params:
                problems += await self._carry_out(
                    attributes, invocation, params, namespace, answers, memory
                )
        memory.last = deepcopy(attributes.obj) if attributes.repeat else None
        if attributes.repeat:
            memory.changed()
        failing = [problem for problem in problems if problem.invocation.policy.fails]
        if failing:
            raise _refusal(attributes, failing)

    async def _carry_out(
        self,
        attributes: Attributes,
        invocation: Invocation[Mutations],
        params: Object | None,
        namespace: Object | None,
        answers: Answers,
        memory: _Memory,
    ) -> list[_Problem]:
        """Carry out one policy with one set of parameters."""
        key = _key(invocation, params)
        compiled, resource = invocation.policy.compiled, invocation.resource

        async def look() -> Inputs:
            return await inputs_of(
                attributes, resource, namespace=namespace, params=params, answers=answers
            )

        try:
            inputs = await look()
        except ValueError as error:
            return [_Problem(replace(invocation, binding=None), str(error))]
        matched = await answers.decided(partial(compiled.conditions.match, inputs))
        if not matched.matches:
            return [_Problem(invocation, matched.error, "Invalid")] if matched.error else []
        if attributes.repeating and key not in memory.again:
            return []
        problems: list[_Problem] = []
        changed = False
        for mutation in compiled.mutations:
            if attributes.obj is None or attributes.operation is Operation.CONNECT:
                continue
            try:
                before = await shown(attributes.obj, attributes, resource) or {}
                inputs = await look()
            except ValueError as error:
                problems.append(_Problem(replace(invocation, binding=None), str(error)))
                continue
            apply = partial(mutation.apply, before, object_kind(attributes, resource), inputs)
            try:
                after = await self._mutated(invocation, apply, answers)
            except MutationError as error:
                problems.append(_Problem(invocation, str(error), "Invalid"))
                continue
            if after is not None and mutation.patches:
                after = read_back(after, attributes, resource, strict=True)
            if after is not None and after != before:
                object_kind(attributes, resource).rules.default(after)
                await put_back(after, attributes, resource)
                changed = True
        if changed:
            memory.changed()
            attributes.repeat = True
        if invocation.policy.spec.get("reinvocationPolicy") == "IfNeeded":
            memory.invoked.add(key)
        return problems

    async def _mutated(
        self,
        invocation: Invocation[Mutations],
        apply: Callable[[], Object | None],
        answers: Answers,
    ) -> Object | None:
        """Make one mutation, and count what comes of it.

        Raises:
            MutationError: it cannot be made.
        """
        policy, binding = invocation.policy.name, invocation.binding
        begun = monotonic()
        try:
            changed = await answers.decided(apply)
        except MutationError as error:
            self._checks.count(policy, binding, str(error), monotonic() - begun)
            raise
        self._checks.count(policy, binding, "", monotonic() - begun)
        return changed


def _key(invocation: Invocation[Mutations], params: Object | None) -> Key:
    meta = (params or {}).get("metadata") or {}
    binding = invocation.binding.name if invocation.binding else ""
    return (
        invocation.policy.name,
        binding,
        str(meta.get("namespace") or ""),
        str(meta.get("name") or ""),
    )


def _refusal(attributes: Attributes, problems: list[_Problem]) -> ApiError:
    """All problems as one Status: the message and reason of the first."""
    error = denied(attributes, "admission request denied by policy")
    first = problems[0]
    causes = [{"message": problem.message} for problem in problems]
    details = {**(error.details or {}), "causes": causes}
    return ApiError(error.code, first.reason or error.reason, first.message, details)
