"""LimitRanges and ResourceQuotas.

Source: "Limit Ranges" and "Resource Quotas" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Json,
    Validation,
    member,
)
from kubetrio.kinds.common.quantities import (
    amount_of,
    container_resource_name,
    is_standard_quota,
    may_overcommit,
    quantity_of,
    quota_resource_name,
    resource_name,
)
from kubetrio.machinery.fielderrors import Named, duplicate, forbidden, invalid, required
from kubetrio.machinery.names_validation import qualified_name
from kubetrio.machinery.quantity import Quantity

_LIMIT_TYPES = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity(1)
_MAX_MILLI = (1 << 63) // 1000


# --- limit ranges ---


def _limit_type(kind: str, path: str, out: Causes) -> None:
    if messages := qualified_name(kind):
        out.extend(invalid(path, Named(kind), message) for message in messages)
    elif "/" not in kind and kind not in _LIMIT_TYPES:
        out.append(invalid(path, Named(kind), "must be a standard limit type or fully qualified"))


# (member named, smaller, larger, value shown, text): the smaller must not be over the larger
_ORDERS = (
    ("min", "min", "max", "min", "min value {} is greater than max value {}"),
    (
        "defaultRequest",
        "min",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "defaultRequest",
        "max",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("default", "min", "default", "min", "min value {} is greater than default value {}"),
    ("default", "default", "max", "max", "default value {} is greater than max value {}"),
)


def _amounts(key: str, lists: Mapping[str, Json], path: str, out: Causes) -> None:
    amounts = {name: items[key] for name, items in lists.items() if key in items}
    for named, smaller, larger, shown, text in _ORDERS:
        if smaller in amounts and larger in amounts:
            one, two = amounts[smaller], amounts[larger]
            if amount_of(one) > amount_of(two):
                detail = text.format(one, two)
                out.append(invalid(f"{path}.{named}[{key}]", amounts[shown], detail))
    _ratio(amounts, f"{path}.maxLimitRequestRatio[{key}]", out)
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if default is None or request is None or may_overcommit(key):
        return
    if amount_of(default) != amount_of(request):
        detail = f"default value {default} must equal to defaultRequest value {request} in {key}"
        out.append(invalid(f"{path}.defaultRequest[{key}]", request, detail))


def _ratio(found: Mapping[str, Any], path: str, out: Causes) -> None:
    ratio = found.get("maxLimitRequestRatio")
    if ratio is None:
        return
    number = amount_of(ratio)
    if number < _ONE:
        out.append(invalid(path, ratio, f"ratio {ratio} is less than 1"))
    if "min" not in found or "max" not in found:
        return
    low, high = amount_of(found["min"]), amount_of(found["max"])
    if max(number.value(), low.value(), high.value()) < _MAX_MILLI:
        limit_of: Callable[[Quantity], int] = Quantity.milli_value
    else:
        limit_of = Quantity.value
    if not limit_of(low):
        return
    most = limit_of(high) / limit_of(low)
    actual = number.milli_value() / 1000 if limit_of is Quantity.milli_value else number.value()
    if actual > most:
        detail = f"ratio {ratio} is greater than max/min = {most:f}"
        out.append(invalid(path, ratio, detail))


def _limit(limit: Json, path: str, out: Causes) -> None:
    kind = limit.get("type") or ""
    _limit_type(kind, f"{path}.type", out)
    name_check = container_resource_name if kind in ("Pod", "Container") else resource_name
    lists = {name: limit.get(name) or {} for name in _LISTS}
    for name, items in lists.items():
        if kind == "Pod" and name.startswith("default"):
            if items:
                detail = "may not be specified when `type` is 'Pod'"
                out.append(forbidden(f"{path}.{name}", detail))
            lists[name] = {}
            continue
        for key in items:
            name_check(key, f"{path}.{name}[{key}]", out)
    if kind == "PersistentVolumeClaim" and not any(
        "storage" in lists[name] for name in ("min", "max")
    ):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        out.append(required(f"{path}.limits", detail))
    for key in dict.fromkeys(key for items in lists.values() for key in items):
        _amounts(key, lists, path, out)


def _limit_range(obj: Json, _path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, limit in enumerate(member(obj, "spec").get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = limit.get("type") or ""
        _limit(limit, path, out)
        if kind in seen:
            out.append(duplicate(f"{path}.type", kind))
        seen.add(kind)


# --- quotas ---

_SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    }
)
_COMPUTE = frozenset(
    {
        "pods",
        "cpu",
        "memory",
        "limits.cpu",
        "limits.memory",
        "requests.cpu",
        "requests.memory",
    }
)
_BY_SCOPE = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "CrossNamespacePodAffinity": _COMPUTE,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY = frozenset(
    {
        "BestEffort",
        "NotBestEffort",
        "Terminating",
        "NotTerminating",
        "CrossNamespacePodAffinity",
    }
)
_EXISTS_DETAIL = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _quota_amounts(items: Mapping[str, Any], path: str, out: Causes) -> None:
    for name, value in items.items():
        where = f"{path}[{name}]"
        quota_resource_name(name, where, out)
        quantity_of(name, value, where, out)


def _applies(scope: str, name: str) -> bool:
    known = _BY_SCOPE.get(scope)
    return known is None or not is_standard_quota(name) or name in known


def _conflicting(scopes: Sequence[str], path: str, out: Causes, shown: Any) -> None:
    for pair in _CONFLICTS:
        if all(scope in scopes for scope in pair):
            out.append(invalid(path, shown, "conflicting scopes"))


def _scopes(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            out.append(invalid(path, scopes, "unsupported scope"))
        for name in sorted(spec.get("hard") or ()):
            if not _applies(scope, name):
                out.append(invalid(path, scopes, "unsupported scope applied to resource"))
    _conflicting(scopes, path, out, scopes)


def _scope_selector(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    scopes = []
    for expression in selector.get("matchExpressions") or ():
        scope = expression.get("scopeName") or ""
        scopes.append(scope)
        if scope not in _SCOPES:
            out.append(invalid(f"{path}.scopeName", Named(scope), "unsupported scope"))
        for name in sorted(spec.get("hard") or ()):
            if not _applies(scope, name):
                detail = "unsupported scope applied to resource"
                out.append(invalid(path, _shown_selector(selector), detail))
        _scope_operator(expression, scope, path, out)
    _conflicting(scopes, path, out, spec.get("scopes"))


def _scope_operator(expression: Json, scope: str, path: str, out: Causes) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or []
    if scope in _EXISTS_ONLY and operator != "Exists":
        out.append(invalid(f"{path}.operator", Named(operator), _EXISTS_DETAIL))
    if operator in ("In", "NotIn"):
        if not values:
            detail = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            out.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            out.append(invalid(f"{path}.values", values, detail))
    else:
        out.append(invalid(f"{path}.operator", Named(operator), "not a valid selector operator"))


def _shown_selector(selector: Json) -> Json:
    expressions = selector.get("matchExpressions") or ()
    return {
        "MatchExpressions": [
            {
                "ScopeName": item.get("scopeName") or "",
                "Operator": item.get("operator") or "",
                "Values": item.get("values"),
            }
            for item in expressions
        ]
    }


def _quota_spec(obj: Json, out: Causes) -> None:
    spec = member(obj, "spec")
    _quota_amounts(member(spec, "hard"), "spec.hard", out)
    _scopes(spec, "spec.scopes", out)
    _scope_selector(spec, "spec.scopeSelector.matchExpressions", out)


def _quota_status(obj: Json, out: Causes) -> None:
    status = member(obj, "status")
    for name in ("hard", "used"):
        _quota_amounts(member(status, name), f"status.{name}", out)


def _quota(obj: Json, _path: str, out: Causes) -> None:
    _quota_spec(obj, out)
    _quota_status(obj, out)


def _quota_update(new: Json, old: Json, out: Causes) -> None:
    _quota_spec(new, out)
    scopes = member(new, "spec").get("scopes")
    if set(scopes or ()) != set(member(old, "spec").get("scopes") or ()):
        out.append(invalid("spec.scopes", scopes, IMMUTABLE))


def _quota_warnings(new: Json, old: Json | None) -> list[str]:
    """Requests over the limits beside them, when the quota is new."""
    hard = member(member(new, "spec"), "hard")
    if old is not None:
        return []
    warnings = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        asked, most = f"requests.{name}", f"limits.{name}"
        if asked not in hard and name in ("cpu", "memory"):
            asked = name
        if asked in hard and most in hard and amount_of(hard[asked]) > amount_of(hard[most]):
            warnings.append(
                f"ResourceQuota {asked} ({hard[asked]}) should be less than {most} ({hard[most]})"
            )
    return warnings


LIMIT_RANGES = Validation(create=_limit_range)
"""The rules of LimitRanges."""
RESOURCE_QUOTAS = Validation(
    create=_quota,
    update=_quota_update,
    revalidate=False,
    warnings=_quota_warnings,
    subresources={"status": lambda new, _, out: _quota_status(new, out)},
)
"""The rules of ResourceQuotas."""
