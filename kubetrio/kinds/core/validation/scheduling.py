"""Where pods may run: affinity, tolerations, taints and spreading.

Source: "Assigning Pods to Nodes", "Taints and Tolerations" and "Pod Topology Spread Constraints"
in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import (
    NOT_POSITIVE,
    Causes,
    Check,
    Json,
    go_struct,
    one_of,
)
from kubetrio.kinds.common.selectors import (
    label_name,
    label_selector,
    node_selector,
    node_selector_term,
)
from kubetrio.machinery.fielderrors import (
    Named,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import dns1123_label, label_value
from kubetrio.machinery.status import Cause

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_IN_BOTH = "exists in both matchLabelKeys and labelSelector"
_NEEDS_SELECTOR = "must not be specified when labelSelector is not set"
_TAINT = go_struct(
    Key=("key", ""), Value=("value", ""), Effect=("effect", ""), TimeAdded=("timeAdded", None)
)
_INCLUSION = one_of("Honor", "Ignore")
_UNSATISFIABLE = one_of("DoNotSchedule", "ScheduleAnyway")


# --- affinity ---


def _weight(term: Mapping[str, Any], path: str, out: Causes) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        out.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _node_affinity(value: Json, path: str, out: Causes) -> None:
    needed = value.get("requiredDuringSchedulingIgnoredDuringExecution")
    if needed is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
        node_selector(needed, where, out)
    where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(
        value.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    ):
        _weight(term, f"{where}[{index}]", out)
        preference = term.get("preference") or {}
        node_selector_term(preference, f"{where}[{index}].preference", out, strict=False)


def _label_keys(keys: Sequence[str], selector: Json | None, path: str, out: Causes) -> None:
    if not keys:
        return
    if selector is None:
        out.append(forbidden(path, _NEEDS_SELECTOR))
        return
    for index, key in enumerate(keys):
        label_name(key, f"{path}[{index}]", out)


def _match_keys(term: Json, path: str, out: Causes) -> None:
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    if not match and not mismatch:
        return
    selector = term.get("labelSelector")
    _label_keys(match, selector, f"{path}.matchLabelKeys", out)
    _label_keys(mismatch, selector, f"{path}.mismatchLabelKeys", out)
    # the keys have been merged into the selector once already: twice means the client did too
    seen: set[str] = set((selector or {}).get("matchLabels") or ())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in match and key in seen:
            out.append(invalid(f"{path}[{match.index(key)}]", key, _IN_BOTH))
        seen.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            out.append(invalid(f"{path}.matchLabelKeys[{index}]", key, detail))


def _pod_term(term: Json, path: str, out: Causes) -> None:
    label_selector(term.get("labelSelector"), f"{path}.labelSelector", out)
    label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", out)
    for name in term.get("namespaces") or ():
        out.extend(invalid(f"{path}.namespace", name, text) for text in dns1123_label(name))
    _match_keys(term, path, out)
    key = term.get("topologyKey") or ""
    if not key:
        out.append(required(f"{path}.topologyKey", "can not be empty"))
    label_name(key, f"{path}.topologyKey", out)


def _pod_affinity(value: Json, path: str, out: Causes) -> None:
    where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(value.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
        _pod_term(term, f"{where}[{index}]", out)
    where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(
        value.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    ):
        _weight(term, f"{where}[{index}]", out)
        _pod_term(term.get("podAffinityTerm") or {}, f"{where}[{index}].podAffinityTerm", out)


_AFFINITIES: tuple[tuple[str, Check], ...] = (
    ("nodeAffinity", _node_affinity),
    ("podAffinity", _pod_affinity),
    ("podAntiAffinity", _pod_affinity),
)


def affinity(value: Json, path: str, out: Causes) -> None:
    """Check the affinity of a pod.

    Args:
        value: with ``nodeAffinity``, ``podAffinity`` and ``podAntiAffinity``.
        path: its path.
        out: receives causes.
    """
    for name, check in _AFFINITIES:
        part = value.get(name)
        if part:
            check(part, f"{path}.{name}", out)


# --- taints and tolerations ---


def tolerations(items: Sequence[Json], path: str, out: Causes) -> None:
    """Check tolerations.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
    """
    for index, item in enumerate(items):
        _toleration(item, f"{path}[{index}]", out)


def _toleration(item: Json, path: str, out: Causes) -> None:
    key, operator = item.get("key") or "", item.get("operator") or ""
    effect, value = item.get("effect") or "", item.get("value") or ""
    if key:
        label_name(key, f"{path}.key", out)
    elif operator != "Exists":
        detail = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        out.append(invalid(f"{path}.operator", Named(operator), detail))
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        out.append(invalid(f"{path}.effect", Named(effect), detail))
    if operator in ("Equal", ""):
        if value and (messages := label_value(value)):
            out.append(invalid(f"{path}.operator", value, ";".join(messages)))
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            out.append(invalid(f"{path}.operator", value, detail))
    else:
        # comparisons are known, though off by default (TaintTolerationComparisonOperators)
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        out.append(not_supported(f"{path}.operator", operator, known))
    if effect and effect not in _EFFECTS:
        out.append(not_supported(f"{path}.effect", effect, _EFFECTS))


def taints(items: Sequence[Json], path: str, out: Causes) -> None:
    """Check taints: well formed, and one for each key and effect.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
    """
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        key, effect = item.get("key") or "", item.get("effect") or ""
        label_name(key, f"{where}.key", out)
        value = item.get("value") or ""
        if messages := label_value(value):
            out.append(invalid(f"{where}.value", value, ";".join(messages)))
        if not effect:
            out.append(required(f"{where}.effect"))
        elif effect not in _EFFECTS:
            out.append(not_supported(f"{where}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            out.append(duplicate(where, _TAINT(item), detail))
        seen.add((key, effect))


# --- spreading ---


def topology_spread(items: Sequence[Json], path: str, out: Causes) -> None:
    """Check topology spread constraints.

    Args:
        items: the list.
        path: its path.
        out: receives causes.
    """
    for index, item in enumerate(items):
        _constraint(item, items[index + 1 :], f"{path}[{index}]", out)


def _constraint(item: Json, others: Sequence[Json], path: str, out: Causes) -> None:
    action = item.get("whenUnsatisfiable") or ""
    if (item.get("maxSkew") or 0) <= 0:
        out.append(invalid(f"{path}.maxSkew", item.get("maxSkew") or 0, NOT_POSITIVE))
    if not item.get("topologyKey"):
        out.append(required(f"{path}.topologyKey", "can not be empty"))
    _UNSATISFIABLE(action, f"{path}.whenUnsatisfiable", out)
    if cause := _repeated(item, others, path):
        out.append(cause)
    _min_domains(item.get("minDomains"), action, f"{path}.minDomains", out)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if item.get(name) is not None:
            _INCLUSION(item[name], f"{path}.{name}", out)
    _match_keys(item, path, out)
    label_selector(item.get("labelSelector"), f"{path}.labelSelector", out)


def _min_domains(number: int | None, action: str, path: str, out: Causes) -> None:
    if number is None:
        return
    if number <= 0:
        out.append(invalid(path, number, NOT_POSITIVE))
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        out.append(invalid(path, number, detail))


def _repeated(item: Json, others: Sequence[Json], path: str) -> Cause | None:
    pair = (item.get("topologyKey") or "", item.get("whenUnsatisfiable") or "")
    for other in others:
        if pair == (other.get("topologyKey") or "", other.get("whenUnsatisfiable") or ""):
            where = f"{path}.{{topologyKey, whenUnsatisfiable}}"
            return duplicate(where, f"{{{pair[0]}, {pair[1]}}}")
    return None
