"""Webhook configurations, admission policies and their bindings.

Expressions compile elsewhere: :func:`rules` takes the compiler.  Source: "Dynamic Admission
Control", "Validating Admission Policy" and "Mutating Admission Policy" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.admissionregistration.validation.policies import policy_rules
from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    Json,
    Validation,
    each,
    matches,
    member,
    one_of,
    row,
    same,
    table,
)
from kubetrio.kinds.common.expressions import compile_expression
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.kinds.common.shared_checks import (
    Compile,
    qualified_domain,
    webhook_client,
)
from kubetrio.kinds.common.webhooks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATIONS,
    MatchConditions,
    match_resources,
    mutating_operations,
    operation_rule,
    review_versions,
)
from kubetrio.machinery.fielderrors import duplicate, forbidden, invalid, not_supported, required
from kubetrio.machinery.names_validation import dns1123_subdomain, path_segment

_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = (*_NO_SIDE_EFFECTS, "Some", "Unknown")
_ACCEPTED_VERSIONS = frozenset({"v1", "v1beta1"})
_ACTIONS = ("Audit", "Deny", "Warn")
_ONE_OF_BOTH = "name and selector are mutually exclusive"
_NO_REPEATS = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the "
    "API response and headers serves no purpose)"
)

# --- webhooks ---


def _side_effects(hook: Mapping[str, Any], path: str, out: Causes, strict: bool) -> None:
    allowed = _NO_SIDE_EFFECTS if strict else _SIDE_EFFECTS
    value = hook.get("sideEffects")
    if value is None:
        out.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}"))
    elif value not in allowed:
        out.append(not_supported(f"{path}.sideEffects", value, allowed))


def _timeout(value: int, path: str, out: Causes) -> None:
    if not 1 <= value <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        out.append(invalid(path, value, detail))


_HOOK_HEAD = table(
    row("name", qualified_domain, missing=""),
    row("rules", each(operation_rule)),
    row("failurePolicy", one_of(*FAILURE_POLICIES)),
    row("matchPolicy", one_of(*MATCH_POLICIES)),
)
_HOOK_TAIL = table(
    row("timeoutSeconds", _timeout),
    row("namespaceSelector", label_selector),
    row("objectSelector", label_selector),
    row("reinvocationPolicy", one_of(*REINVOCATIONS)),
)


def _hooks(obj: Mapping[str, Any]) -> list[Json]:
    return list(obj.get("webhooks") or ())


def _recognized(hooks: Sequence[Json]) -> bool:
    lists = [hook.get("admissionReviewVersions") or () for hook in hooks]
    return all(not versions or _ACCEPTED_VERSIONS & set(versions) for versions in lists)


def _webhooks(conditions: MatchConditions) -> Validation:
    def check(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
        hooks, stored = _hooks(new), _hooks(old)
        strict_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in stored)
        strict_versions = _recognized(stored)
        names = [hook.get("name") for hook in stored]
        unique = len(set(names)) == len(names)
        before = [hook.get("matchConditions") for hook in stored]
        after = [hook.get("matchConditions") for hook in hooks]
        unchanged = bool(old) and len(before) == len(after) and all(map(same, after, before))
        known = {item.get("expression") or "" for items in before for item in items or ()}
        seen: set[str] = set()
        for index, hook in enumerate(hooks):
            path = f"webhooks[{index}]"
            _HOOK_HEAD(hook, path, out)
            _side_effects(hook, path, out, strict_effects)
            _HOOK_TAIL(hook, path, out)
            webhook_client(member(hook, "clientConfig"), f"{path}.clientConfig", out)
            if not unchanged:
                items = hook.get("matchConditions") or ()
                conditions(items, f"{path}.matchConditions", out, stored=known)
            versions = hook.get("admissionReviewVersions") or []
            review_versions(versions, f"{path}.admissionReviewVersions", out, strict_versions)
            name = hook.get("name") or ""
            if unique and name in seen:
                out.append(duplicate(f"{path}.name", name))
            elif name:
                seen.add(name)

    return Validation(
        create=lambda obj, _, out: check(obj, {}, out), update=check, revalidate=False
    )


# --- bindings ---


def _param_ref(ref: Mapping[str, Any], path: str, out: Causes) -> None:
    name, selector = ref.get("name") or "", ref.get("selector")
    if name:
        out.extend(invalid(f"{path}.name", name, text) for text in path_segment(name))
        if selector is not None:
            out.append(forbidden(f"{path}.name", _ONE_OF_BOTH))
    if selector is not None:
        label_selector(selector, f"{path}.selector", out)
        if name:
            out.append(forbidden(f"{path}.selector", _ONE_OF_BOTH))
    if not name and selector is None:
        out.append(required(path, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    where = f"{path}.parameterNotFoundAction"
    if not action:
        out.append(required(where))
    elif action not in ("Deny", "Allow"):
        out.append(not_supported(where, action, ("Deny", "Allow")))


def _actions(actions: Sequence[str], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            out.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in seen:
            out.append(duplicate(f"{path}[{index}]", action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        out.append(invalid(path, list(actions), _NO_REPEATS))


_BINDING = table(row("policyName", matches(dns1123_subdomain), missing=""))


def _binding(*, mutating: bool) -> Check:
    actions = table(
        row("validationActions", _actions, missing="at least one validation action is required")
    )

    def check(obj: Mapping[str, Any], _: str, out: Causes) -> None:
        spec = member(obj, "spec")
        _BINDING(spec, "spec", out)
        ref = spec.get("paramRef")
        if ref is not None:
            _param_ref(ref, "spec.paramRef", out)
        resources = spec.get("matchResources")
        if resources is not None:
            match_resources(resources, "spec.matchResources", out)
        if not mutating:
            actions(spec, "spec", out)
        elif resources is not None:
            mutating_operations(resources, "spec.matchResources", out)

    return check


def rules(compiler: Compile) -> Mapping[str, Validation]:
    """The rules of the group with a compiler of expressions.

    Args:
        compiler: tells what is wrong with an expression.
    """
    conditions = MatchConditions(compiler)
    return {
        "validatingwebhookconfigurations": _webhooks(conditions),
        "mutatingwebhookconfigurations": _webhooks(conditions),
        "validatingadmissionpolicybindings": Validation(create=_binding(mutating=False)),
        "mutatingadmissionpolicybindings": Validation(create=_binding(mutating=True)),
        **policy_rules(compiler),
    }


_CHECKS = rules(compile_expression)
MUTATINGADMISSIONPOLICIES = _CHECKS["mutatingadmissionpolicies"]
MUTATINGADMISSIONPOLICYBINDINGS = _CHECKS["mutatingadmissionpolicybindings"]
MUTATINGWEBHOOKCONFIGURATIONS = _CHECKS["mutatingwebhookconfigurations"]
VALIDATINGADMISSIONPOLICIES = _CHECKS["validatingadmissionpolicies"]
VALIDATINGADMISSIONPOLICYBINDINGS = _CHECKS["validatingadmissionpolicybindings"]
VALIDATINGWEBHOOKCONFIGURATIONS = _CHECKS["validatingwebhookconfigurations"]
