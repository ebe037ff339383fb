"""ValidatingAdmissionPolicy: expressions that must hold of what is written.

Source: docs "Validating Admission Policy"; KEP-3488.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.plugin import denied
from kubetrio.cel.programs import Inputs
from kubetrio.env import monotonic
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.dynamic.answers import Answers, answers_of
from kubetrio.plugins.dynamic.conditions import Expression, MatchConditions
from kubetrio.plugins.dynamic.inputs import inputs_of
from kubetrio.plugins.policies.checks import PolicyChecks
from kubetrio.plugins.policies.dependencies import VALIDATING, PolicyDependencies
from kubetrio.plugins.policies.policies import Invocation, PolicySource, policy_scope

Object = dict[str, Any]

MESSAGE_MAX = 5 * 1024  # bytes of an evaluated messageExpression
ANNOTATION_MAX = 10 * 1024  # bytes of an audit annotation
FAILURES = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {
    "Forbidden": 403,
    "Unauthorized": 401,
    "RequestEntityTooLarge": 413,
}
_INVALID = "Invalid"


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of one validation.

    Args:
        index: which one.
        message: why the request is refused.
        reason: of the Status; empty when the policy is at fault.
        took_s: seconds that it took.
    """

    index: int
    message: str
    reason: str = ""
    took_s: float = 0.0


@dataclass(slots=True)
class Result:
    """What came of one policy with one set of parameters.

    Args:
        refusals: what refuses the request.
        annotations: for the audit log, in order.
        errors: audit annotations that failed; they refuse whatever the actions of the binding.
        ignored: what would have refused the request, had the policy not said to ignore failures.
    """

    refusals: list[Decision] = field(default_factory=list)
    annotations: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ignored: list[Decision] = field(default_factory=list)

    def failed(self, decision: Decision, *, refuses: bool) -> None:
        """Note that an expression could not be evaluated."""
        (self.refusals if refuses else self.ignored).append(decision)


class Validations:
    """The expressions of a policy.

    Args:
        spec: of the policy.
    """

    def __init__(self, spec: Object) -> None:
        scope = policy_scope(spec, patches=False)
        self._conditions = MatchConditions(spec, scope)
        self._fails = spec.get("failurePolicy") != "Ignore"
        self._validations = [
            (
                item,
                Expression(item.get("expression") or "", scope, ("bool",)),
                Expression(item["messageExpression"], scope, ("string",))
                if item.get("messageExpression")
                else None,
            )
            for item in spec.get("validations") or ()
        ]
        self._annotations = [
            (
                item.get("key") or "",
                Expression((item.get("valueExpression") or "").strip(), scope,
                           ("string", "null_type")),
            )
            for item in spec.get("auditAnnotations") or ()
        ]  # fmt: skip

    def run(self, inputs: Inputs) -> Result:
        """Evaluate everything."""
        result = Result()
        matched = self._conditions.match(inputs)
        if not matched.matches:
            if matched.error and self._fails:
                result.refusals.append(Decision(0, matched.error))
            return result
        for index, (item, expression, message) in enumerate(self._validations):
            begun = monotonic()
            outcome = expression.evaluate(inputs)
            took_s = monotonic() - begun
            if outcome.out_of_budget:
                # Nothing further is run, and the policy says this and nothing else.
                result.refusals.clear()
                decision = Decision(0, outcome.error, took_s=took_s)
                result.failed(decision, refuses=self._fails)
                return result
            if outcome.error:
                decision = Decision(index, outcome.error, took_s=took_s)
                result.failed(decision, refuses=self._fails)
            elif outcome.value is not True:
                text = self._message(item, message, inputs)
                reason = item.get("reason") or _INVALID
                result.refusals.append(Decision(index, text, reason, took_s))
        self._annotate(inputs, result)
        return result

    @staticmethod
    def _message(item: Mapping[str, Any], expression: Expression | None, inputs: Inputs) -> str:
        """Why a validation refuses: evaluated, else as written, else the expression."""
        text = ""
        if expression is not None:
            value = expression.evaluate(inputs).value
            text = value.strip() if isinstance(value, str) else ""
            if "\n" in text or len(text.encode("utf-8", "replace")) > MESSAGE_MAX:
                text = ""
        text = text or (item.get("message") or "").strip()
        return text or f"failed expression: {(item.get('expression') or '').strip()}"

    def _annotate(self, inputs: Inputs, result: Result) -> None:
        for key, expression in self._annotations:
            outcome = expression.evaluate(inputs)
            if outcome.error:
                if self._fails:
                    result.errors.append(outcome.error)
            elif isinstance(outcome.value, str) and (text := outcome.value.strip()):
                cut = text.encode("utf-8", "replace")[:ANNOTATION_MAX]
                result.annotations.append((key, cut.decode("utf-8", "ignore")))


class ValidatingPolicies:
    """The policies of one server.

    Args:
        dependencies: the server.
        checks: counts what comes of expressions.
    """

    def __init__(self, dependencies: PolicyDependencies, checks: PolicyChecks) -> None:
        self._checks = checks
        self._authorize = dependencies.authorize
        self._thread = dependencies.thread
        self._source = PolicySource(dependencies, VALIDATING, Validations)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what a policy refuses; the first refusal is told.

        Raises:
            ApiError: with the reason of the validation, else 422; 500 without an engine.
        """
        refused: list[ApiError] = []
        noted: dict[str, list[str]] = {}
        answers = answers_of(attributes.memory, self._authorize, self._thread)
        for invocation in await self._source.invocations(attributes):
            if invocation.error:
                if invocation.policy.fails:
                    refused.append(_refusal(attributes, invocation, invocation.error))
                continue
            await self._carry_out(attributes, invocation, answers, refused, noted)
        for key, values in noted.items():
            attributes.annotations[key] = ", ".join(values)
        if refused:
            raise refused[0]

    async def _carry_out(
        self,
        attributes: Attributes,
        invocation: Invocation[Validations],
        answers: Answers,
        refused: list[ApiError],
        noted: dict[str, list[str]],
    ) -> None:
        namespace = await self._source.namespace(attributes)
        for params in invocation.params:
            try:
                inputs = await inputs_of(
                    attributes,
                    invocation.resource,
                    namespace=namespace,
                    params=params,
                    answers=answers,
                )
            except ValueError as error:
                if invocation.policy.fails:
                    why = f"failed to configure policy: failed to convert object version: {error}"
                    refused.append(_refusal(attributes, replace(invocation, binding=None), why))
                return
            result = await answers.decided(partial(invocation.policy.compiled.run, inputs))
            policy, binding = invocation.policy.name, invocation.binding
            for decision in result.refusals:
                _act(attributes, invocation, decision, refused)
                for action in (binding.spec.get("validationActions") or ()) if binding else ():
                    self._checks.count(policy, binding, decision.message, decision.took_s, action)
            for decision in result.ignored:
                self._checks.count(policy, binding, decision.message, decision.took_s, "Allow")
            for why in result.errors:
                self._checks.count(policy, binding, why, 0.0, "Deny")
            for key, value in result.annotations:
                values = noted.setdefault(f"{invocation.policy.name}/{key}", [])
                if value not in values:
                    values.append(value)
            refused += [_refusal(attributes, invocation, error) for error in result.errors]


def _act(
    attributes: Attributes,
    invocation: Invocation[Validations],
    decision: Decision,
    refused: list[ApiError],
) -> None:
    """Do what a binding says to do about a refusal."""
    binding = invocation.binding
    if binding is None:
        return
    policy, actions = invocation.policy.name, binding.spec.get("validationActions") or ()
    for action in actions:
        if action == "Deny":
            refused.append(_refusal(attributes, invocation, decision.message, decision.reason))
        elif action == "Warn":
            told = f"'{policy}' with binding '{binding.name}': {decision.message}"
            attributes.warn([f"Validation failed for ValidatingAdmissionPolicy {told}"])
        elif action == "Audit":
            failure = {
                "message": decision.message,
                "policy": policy,
                "binding": binding.name,
                "expressionIndex": decision.index,
                "validationActions": list(actions),
            }
            attributes.annotations[FAILURES] = orjson.dumps([failure]).decode()


def _refusal(
    attributes: Attributes, invocation: Invocation[Validations], why: str, reason: str = ""
) -> ApiError:
    binding = f" with binding '{invocation.binding.name}'" if invocation.binding else ""
    message = f"ValidatingAdmissionPolicy '{invocation.policy.name}'{binding} denied request: {why}"
    error = denied(attributes, message)
    reason = reason or _INVALID
    details = {**(error.details or {}), "causes": [{"message": message}]}
    return ApiError(_CODES.get(reason, 422), reason, error.message, details)
