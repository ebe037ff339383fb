"""Specs of Jobs, in Jobs and in the templates of CronJobs.

Source: "Jobs" in the Kubernetes documentation; KEP-3329 (failure policy), KEP-3850 (backoff limit
per index), KEP-3998 (success policy), KEP-4368 (managed by).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json, go_struct, not_negative
from kubetrio.kinds.common.formats import QUALIFIED, domain_prefixed_path
from kubetrio.kinds.core.validation.podspec import pod_template
from kubetrio.machinery.fielderrors import (
    duplicate,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
)
from kubetrio.machinery.names_validation import byte_length
from kubetrio.machinery.status import Cause

_MAX_INDEXED = 100_000
_MANY = 100_000
_MAX_FOR_MANY = 10_000
_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_MAX_CONDITIONS = 20
_MAX_MANAGER = 63
_MAX_INDEXES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MODES = ("NonIndexed", "Indexed")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_RESTARTS = ("OnFailure", "Never")
_SUCCESS_RULE = go_struct(
    SucceededIndexes=("succeededIndexes", None), SucceededCount=("succeededCount", None)
)
_EXIT_CODES = go_struct(
    ContainerName=("containerName", None), Operator=("operator", ""), Values=("values", None)
)
_CONDITION = go_struct(Type=("type", ""), Status=("status", ""))
_NEEDS_INDEX = "requires indexed completion mode"
_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def _one_of(value: str, path: str, supported: tuple[str, ...], out: Causes) -> None:
    if not value:
        listed = " ".join(map(quote, supported))
        out.append(required(path, f"valid values: [{listed}]"))
    elif value not in supported:
        out.append(not_supported(path, value, supported))


def _without_value(path: str, detail: str) -> Cause:
    """A cause that tells no value."""
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", path)


# --- indexed ---


def _indexed(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failures, where = spec.get("maxFailedIndexes"), f"{path}.maxFailedIndexes"
    if completions is None:
        out.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > _MAX_INDEXED:
        detail = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
        out.append(invalid(f"{path}.parallelism", parallelism, detail))
    if failures is not None and completions is not None and failures > completions:
        out.append(invalid(where, failures, "must be less than or equal to completions"))
    if failures is not None and failures > _MAX_INDEXED:
        out.append(invalid(where, failures, f"must be less than or equal to {_MAX_INDEXED}"))
    if (completions or 0) <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    if failures is None:
        detail = f"must be specified when completions is above {_MANY}"
        out.append(required(where, detail))
    for name, number in (("parallelism", parallelism), ("maxFailedIndexes", failures)):
        if number is not None and number > _MAX_FOR_MANY:
            detail = (
                f"must be less than or equal to {_MAX_FOR_MANY} when completions are above "
                f"{_MANY} and used with backoff limit per index"
            )
            out.append(invalid(f"{path}.{name}", number, detail))


def _completion_mode(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        out.append(not_supported(f"{path}.completionMode", mode, _MODES))
    if mode == "Indexed":
        _indexed(spec, path, out)
    if mode not in (None, "NonIndexed"):
        return
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(name) is not None:
            out.append(invalid(f"{path}.{name}", spec[name], _NEEDS_INDEX))


# --- failure policy ---


def _failure_policy(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        out.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name")
        for member in ("containers", "initContainers")
        for container in pod.get(member) or ()
    }
    for index, rule in enumerate(rules):
        _failure_rule(rule, f"{path}.rules[{index}]", out, (spec, names))


_Context = tuple[Mapping[str, Any], set[Any]]
"""The job's spec and the names of its containers."""


def _failure_rule(rule: Json, path: str, out: Causes, context: _Context) -> None:
    spec, names = context
    action = rule.get("action") or ""
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            detail = "requires the backoffLimitPerIndex to be set"
            out.append(invalid(f"{path}.action", action, detail))
    else:
        _one_of(action, f"{path}.action", _ACTIONS, out)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        _exit_codes(codes, f"{path}.onExitCodes", out, names)
    if conditions:
        _conditions(conditions, f"{path}.onPodConditions", out)
    if codes is not None and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        out.append(_without_value(path, detail))
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        out.append(_without_value(path, detail))


def _exit_codes(codes: Json, path: str, out: Causes, names: set[Any]) -> None:
    operator = codes.get("operator") or ""
    _one_of(operator, f"{path}.operator", _OPERATORS, out)
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        out.append(invalid(f"{path}.containerName", container, detail))
    values, where = codes.get("values") or [], f"{path}.values"
    if not values:
        out.append(invalid(where, codes.get("values"), "at least one value is required"))
    elif len(values) > _MAX_EXIT_CODES:
        out.append(too_many(where, len(values), _MAX_EXIT_CODES))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            out.append(invalid(f"{where}[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            out.append(duplicate(f"{where}[{index}]", value))
    if values != sorted(values):
        out.append(invalid(where, values, "must be ordered"))


def _conditions(conditions: list[Json], path: str, out: Causes) -> None:
    if len(conditions) > _MAX_CONDITIONS:
        out.append(too_many(path, len(conditions), _MAX_CONDITIONS))
    for index, pattern in enumerate(conditions):
        where = f"{path}[{index}]"
        QUALIFIED(pattern.get("type") or "", f"{where}.type", out)
        _one_of(pattern.get("status") or "", f"{where}.status", _STATUSES, out)


# --- success policy ---


def printed_success(policy: Mapping[str, Any] | None) -> Json | None:
    """A success policy as Go prints it.

    Args:
        policy: the policy, or None.
    """
    if policy is None:
        return None
    rules = policy.get("rules")
    return {"Rules": None if rules is None else [_SUCCESS_RULE(rule) for rule in rules]}


def printed_failure(policy: Mapping[str, Any] | None) -> Json | None:
    """A failure policy as Go prints it.

    Args:
        policy: the policy, or None.
    """
    if policy is None:
        return None
    if policy.get("rules") is None:
        return {"Rules": None}
    rules = [
        {
            "Action": rule.get("action") or "",
            "OnExitCodes": _EXIT_CODES(rule["onExitCodes"]) if rule.get("onExitCodes") else None,
            "OnPodConditions": [_CONDITION(item) for item in rule.get("onPodConditions") or ()]
            or rule.get("onPodConditions"),
        }
        for rule in policy["rules"]
    ]
    return {"Rules": rules}


def _success_policy(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    if spec.get("completionMode") != "Indexed":
        out.append(invalid(path, printed_success(spec["successPolicy"]), _NEEDS_INDEX))
        return
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        out.append(required(f"{path}.rules", detail))
    if len(rules) > _MAX_RULES:
        out.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    completions = spec.get("completions")
    if completions is None:
        return  # told already
    for index, rule in enumerate(rules):
        _success_rule(rule, f"{path}.rules[{index}]", out, completions)


def _success_rule(rule: Json, path: str, out: Causes, completions: int) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        out.append(required(path, detail))
    total = 0
    if indexes is not None:
        where = f"{path}.succeededIndexes"
        if byte_length(indexes) > _MAX_INDEXES:
            out.append(too_long(where, _MAX_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except ValueError as error:
            out.append(invalid(where, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return
    where = f"{path}.succeededCount"
    not_negative(count, where, out)
    limits = [(completions, "the number of specified completions")]
    if indexes is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    for limit, meaning in limits:
        if count > limit:
            detail = f"must be less than or equal to {limit} ({meaning})"
            out.append(invalid(where, count, detail))


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list such as ``1,3-5`` names.

    Args:
        text: the list.
        completions: indexes are below this number.

    Raises:
        ValueError: not such a list, in kube-apiserver's words.
    """
    total, last = 0, -1
    for fragment in text.split(",") if text else ():
        first, end = index_interval(fragment, completions)
        if total and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def index_interval(fragment: str, completions: int) -> tuple[int, int]:
    """First and last index of one part of a list of indexes.

    Args:
        fragment: one index, or two with a hyphen between them.
        completions: indexes are below this number.

    Raises:
        ValueError: not such a part, in kube-apiserver's words.
    """
    parts = fragment.split("-")
    if len(parts) > 2:
        raise ValueError(
            f"the fragment {quote(fragment)} violates the requirement that an index interval "
            "can have at most two parts separated by '-'"
        )
    first, *rest = (_index(part, completions) for part in parts)
    end = rest[0] if rest else first
    if rest and first >= end:
        raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return int(text)


# --- whole ---


def _replacement(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    known = _REPLACEMENTS if spec.get("podFailurePolicy") is None else ("Failed",)
    if policy not in known:
        out.append(not_supported(path, policy, known))


def _restart_policy(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    pod = (spec.get("template") or {}).get("spec") or {}
    policy = pod.get("restartPolicy") or ""
    if policy in ("", "Always"):
        # Always is what an absent policy defaults to
        out.append(required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in _RESTARTS:
        out.append(not_supported(path, policy, _RESTARTS))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        out.append(invalid(path, policy, detail))


def job_spec(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the spec of a Job, its selector excepted.

    Args:
        spec: the spec.
        path: its path.
        out: receives causes.
    """
    for name in _NUMBERS:
        not_negative(spec.get(name) or 0, f"{path}.{name}", out)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "when maxFailedIndexes is specified"
        out.append(required(f"{path}.backoffLimitPerIndex", detail))
    manager = spec.get("managedBy")
    if manager is not None:
        domain_prefixed_path(manager, f"{path}.managedBy", out)
        if byte_length(manager) > _MAX_MANAGER:
            out.append(too_long(f"{path}.managedBy", _MAX_MANAGER))
    _completion_mode(spec, path, out)
    if spec.get("podFailurePolicy") is not None:
        _failure_policy(spec, f"{path}.podFailurePolicy", out)
    if spec.get("successPolicy") is not None:
        _success_policy(spec, f"{path}.successPolicy", out)
    _replacement(spec, f"{path}.podReplacementPolicy", out)
    pod_template(spec.get("template") or {}, f"{path}.template", out)
    _restart_policy(spec, f"{path}.template.spec.restartPolicy", out)
