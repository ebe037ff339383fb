"""Flow schemas and priority levels.

Source: "API Priority and Fairness" in the Kubernetes documentation; the fixed objects are those
of ``schemas/bootstrap.json``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kubetrio.flow.shuffle import required_entropy_bits
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    between,
    each,
    is_missing,
    matches,
    member,
    minimum,
    row,
    table,
    unchanged,
)
from kubetrio.kinds.common.gostructs import go_struct_of
from kubetrio.kinds.common.shared_checks import typed_conditions
from kubetrio.machinery.fielderrors import forbidden, invalid, not_supported, required
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain
from kubetrio.schema import builtin

_TYPES = "io.k8s.api.flowcontrol.v1."
_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
)
_METHODS = ("ByNamespace", "ByUser")
_MAX_PRECEDENCE = 10000
_MAX_QUEUES = 10_000_000
_MAX_ENTROPY_BITS = 60
_SUBJECTS = (
    ("ServiceAccount", "serviceAccount"),
    ("User", "user"),
    ("Group", "group"),
)
_NAMESPACE_INTRO = "each member of this list must be '*' or a DNS-1123 label; "
_POSITIVE = "must be positive"
_NOT_NEGATIVE = "must be a non-negative integer"


@cache
def _mandatory(kind: str) -> Mapping[str, Json]:
    """Specs of the objects that must stay as they are, by name."""
    objects = builtin.parsed("bootstrap").values()
    return {
        item["metadata"]["name"]: item["spec"]
        for item in objects
        if item["kind"] == kind and item.get("mandatory")
    }


def _like(one: Any, two: Any) -> bool:
    """Equality of two values in which absent, empty and zero members are the same."""
    if isinstance(one, dict) and isinstance(two, dict):
        return all(_like(one.get(key), two.get(key)) for key in one.keys() | two.keys())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_like, one, two))
    return one == two or (not one and not two)


# --- rules of flow schemas ---


def _account(subject: Mapping[str, Any], path: str, out: Causes) -> None:
    name, namespace = subject.get("name") or "", subject.get("namespace") or ""
    if not name:
        out.append(required(f"{path}.name"))
    elif name != "*":
        out.extend(invalid(f"{path}.name", name, text) for text in dns1123_subdomain(name))
    if namespace:
        where = f"{path}.namespace"
        out.extend(invalid(where, namespace, text) for text in dns1123_label(namespace))
    else:
        detail = "must specify namespace for service account"
        out.append(required(f"{path}.namespace", detail))


_NAMED = table(row("name", missing=""))


def _subject(subject: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = subject.get("kind") or ""
    if kind not in ("Group", "ServiceAccount", "User"):
        out.append(not_supported(f"{path}.kind", kind, ("Group", "ServiceAccount", "User")))
        return
    for name, field in _SUBJECTS:
        value = subject.get(field)
        where = f"{path}.{field}"
        if name != kind:
            if value is not None:
                detail = f"{field} is forbidden when subject kind is not '{name}'"
                out.append(forbidden(where, detail))
        elif value is None:
            out.append(required(where, f"{field} is required when subject kind is '{name}'"))
        elif name == "ServiceAccount":
            _account(value, where, out)
        else:
            _NAMED(value, where, out)


def _verbs(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    verbs = rule.get("verbs") or []
    where = f"{path}.verbs"
    if not verbs:
        out.append(required(where, "verbs must contain at least one value"))
    elif "*" in verbs:
        if len(verbs) > 1:
            detail = "if '*' is present, must not specify other verbs"
            out.append(invalid(where, verbs, detail))
    elif not set(verbs) <= set(_VERBS):
        out.append(not_supported(where, verbs, _VERBS))


def _alone(items: Sequence[str], others: str, path: str, out: Causes) -> None:
    if len(items) > 1 and "*" in items:
        detail = f"if '*' is present, must not specify other {others}"
        out.append(invalid(path, list(items), detail))


def _resource_rule(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    _verbs(rule, path, out)
    for name, one, others in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        items = rule.get(name) or ()
        if not items:
            detail = f"resource rules must supply at least one {one}"
            out.append(required(f"{path}.{name}", detail))
        _alone(items, others, f"{path}.{name}", out)
    namespaces = rule.get("namespaces") or ()
    where = f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        out.append(required(where, detail))
    elif "*" in namespaces:
        _alone(namespaces, "namespaces", where, out)
    else:
        for index, namespace in enumerate(namespaces):
            for message in dns1123_label(namespace):
                out.append(invalid(f"{where}[{index}]", namespace, _NAMESPACE_INTRO + message))


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    if stars > 1 or (stars == 1 and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _url_rule(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    _verbs(rule, path, out)
    urls = rule.get("nonResourceURLs") or ()
    where = f"{path}.nonResourceURLs"
    if not urls:
        out.append(required(where, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        _alone(urls, "non-resource URLs", where, out)
    else:
        for index, url in enumerate(urls):
            if error := _url_error(url):
                out.append(invalid(f"{where}[{index}]", url, error))


def _any_rules(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        out.append(required(path, detail))


_RULE = table(
    row("subjects", each(_subject), missing="subjects must contain at least one value"),
    _any_rules,
    row("resourceRules", each(_resource_rule)),
    row("nonResourceRules", each(_url_rule)),
)


# --- flow schemas ---


def _precedence(value: int, path: str, out: Causes, *, exempt: bool) -> None:
    if value <= 0:
        out.append(invalid(path, value, "must be a positive value"))
    if value > _MAX_PRECEDENCE:
        out.append(invalid(path, value, f"must not be greater than {_MAX_PRECEDENCE}"))
    if value == 1 and not exempt:
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        out.append(invalid(path, value, detail))


def _method(method: Mapping[str, Any], path: str, out: Causes) -> None:
    if method.get("type") not in _METHODS:
        # the whole struct stands where the value should
        shown = {"Type": method.get("type") or ""}
        out.append(not_supported(f"{path}.type", shown, _METHODS))


_SCHEMA = table(
    row("distinguisherMethod", _method),
    row("rules", each(_RULE)),
)
_LEVEL_NAME = table(
    row("name", matches(dns1123_subdomain), missing="must reference a priority level")
)
_STATUS = table(row("conditions", typed_conditions))


def _schema(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    name, spec = obj["metadata"].get("name") or "", member(obj, "spec")
    precedence = spec.get("matchingPrecedence") or 0
    _precedence(precedence, "spec.matchingPrecedence", out, exempt=name == "exempt")
    method = spec.get("distinguisherMethod")
    if is_missing(method) and method is not None:
        _method(method, "spec.distinguisherMethod", out)
    _LEVEL_NAME(member(spec, "priorityLevelConfiguration"), "spec.priorityLevelConfiguration", out)
    _SCHEMA(spec, "spec", out)
    fixed = _mandatory("FlowSchema").get(name)
    if fixed is not None and not _like(spec, fixed):
        detail = f"spec of '{name}' must equal the fixed value"
        out.append(invalid("spec", go_struct_of(f"{_TYPES}FlowSchemaSpec", spec), detail))
    _status(obj, "", out)


def _status(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _STATUS(member(obj, "status"), "status", out)


# --- priority levels ---


def _queuing(queuing: Mapping[str, Any], path: str, out: Causes) -> None:
    length, queues, hand = (
        queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize")
    )
    if length <= 0:
        out.append(invalid(f"{path}.queueLengthLimit", length, _POSITIVE))
    if queues <= 0:
        out.append(invalid(f"{path}.queues", queues, _POSITIVE))
    elif queues > _MAX_QUEUES:
        detail = f"must not be greater than {_MAX_QUEUES}"
        out.append(invalid(f"{path}.queues", queues, detail))
    where = f"{path}.handSize"
    if hand <= 0:
        out.append(invalid(where, hand, _POSITIVE))
    elif hand > queues:
        out.append(invalid(where, hand, f"should not be greater than queues ({queues})"))
    elif required_entropy_bits(queues, hand) > _MAX_ENTROPY_BITS:
        detail = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be "
            f"greater than {_MAX_ENTROPY_BITS}"
        )
        out.append(invalid(where, hand, detail))


def _response(response: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, queuing = response.get("type") or "", response.get("queuing")
    where = f"{path}.queuing"
    if kind == "Reject":
        if queuing is not None:
            detail = "must be nil if limited.limitResponse.type is not Limited"
            out.append(forbidden(where, detail))
    elif kind != "Queue":
        out.append(not_supported(f"{path}.type", kind, ("Queue", "Reject")))
    elif queuing is None:
        detail = "must not be empty if limited.limitResponse.type is Limited"
        out.append(required(where, detail))
    else:
        _queuing(queuing, where, out)


_PERCENT = between(0, 100, "must be between 0 and 100, inclusive")
_LIMITED = table(
    row("nominalConcurrencyShares", minimum(0, _NOT_NEGATIVE)),
    row(
        "limitResponse",
        _response,
        absent=lambda _, path, out: _response({}, path, out),
    ),
    row("lendablePercent", _PERCENT),
    row("borrowingLimitPercent", minimum(0, f"if specified, {_NOT_NEGATIVE}")),
)
_EXEMPT = table(
    row("nominalConcurrencyShares", minimum(0, _NOT_NEGATIVE)), row("lendablePercent", _PERCENT)
)


def _level(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    name, spec = obj["metadata"].get("name") or "", member(obj, "spec")
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        detail = "must be 'Exempt' if and only if `name` is 'exempt'"
        out.append(invalid("spec.type", kind, detail))
    if kind == "Exempt":
        if limited is not None:
            detail = "must be nil if the type is not Limited"
            out.append(forbidden("spec.limited", detail))
        if exempt is not None:
            _EXEMPT(exempt, "spec.exempt", out)
    elif kind != "Limited":
        out.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
    else:
        if exempt is not None:
            out.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            out.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            _LIMITED(limited, "spec.limited", out)
    _fixed_level(name, spec, out)
    _status(obj, "", out)


def _fixed_level(name: str, spec: Mapping[str, Any], out: Causes) -> None:
    fixed = _mandatory("PriorityLevelConfiguration").get(name)
    if fixed is None:
        return
    subject = f"spec of '{name}'"
    mine, expected = dict(spec), dict(fixed)
    if name == "exempt":
        subject += " except the 'spec.exempt' field"
        mine.pop("exempt", None)
        expected.pop("exempt", None)
    if not _like(mine, expected):
        detail = f"{subject} must equal the fixed value"
        out.append(
            invalid("spec", go_struct_of(f"{_TYPES}PriorityLevelConfigurationSpec", spec), detail)
        )


FLOWSCHEMAS = Validation(create=_schema, subresources={"status": unchanged(_status)})
PRIORITYLEVELCONFIGURATIONS = Validation(create=_level, subresources={"status": unchanged(_status)})
