"""Roles and bindings.

Source: "Using RBAC Authorization" in the Kubernetes documentation and the API reference of
rbac.authorization.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    Json,
    UpdateCheck,
    Validation,
    changes,
    each,
    go_struct,
    matches,
    one_of,
    row,
    same,
    table,
    unchanged,
)
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.machinery.fielderrors import invalid, not_supported, required
from kubetrio.machinery.names_validation import dns1123_subdomain, path_segment

_GROUP = "rbac.authorization.k8s.io"
_ROLE_REF = go_struct(APIGroup=("apiGroup", ""), Kind=("kind", ""), Name=("name", ""))
_SUBJECTS = ("ServiceAccount", "User", "Group")
_NAMESPACED = "namespaced rules cannot apply to non-resource URLs"
_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


def _rule(*, namespaced: bool) -> Check:
    def check(rule: Mapping[str, Any], path: str, out: Causes) -> None:
        if not rule.get("verbs"):
            out.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        if urls := rule.get("nonResourceURLs"):
            where = f"{path}.nonResourceURLs"
            if namespaced:
                out.append(invalid(where, urls, _NAMESPACED))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                out.append(invalid(where, urls, _BOTH))
            return
        if not rule.get("apiGroups"):
            detail = "resource rules must supply at least one api group"
            out.append(required(f"{path}.apiGroups", detail))
        if not rule.get("resources"):
            detail = "resource rules must supply at least one resource"
            out.append(required(f"{path}.resources", detail))

    return check


def _aggregation(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        out.append(required(f"{path}.clusterRoleSelectors", detail))
    for index, selector in enumerate(selectors):
        where = f"{path}.clusterRoleSelectors[{index}]"
        before = len(out)
        label_selector(selector, where, out)
        if len(out) != before:
            out.append(invalid(where, None, "invalid label selector."))


def _aggregated(role: Mapping[str, Any], path: str, out: Causes) -> None:
    # an empty rule is not a missing one
    rule = role.get("aggregationRule")
    if rule is not None:
        _aggregation(rule, f"{path}aggregationRule", out)


def _subject(*, namespaced: bool) -> Check:
    def check(subject: Mapping[str, Any], path: str, out: Causes) -> None:
        kind, name = subject.get("kind") or "", subject.get("name") or ""
        group = subject.get("apiGroup") or ""
        if not name:
            out.append(required(f"{path}.name"))
        if kind == "ServiceAccount":
            if name:
                out.extend(invalid(f"{path}.name", name, text) for text in dns1123_subdomain(name))
            if group:
                out.append(not_supported(f"{path}.apiGroup", group, [""], named=False))
            if not namespaced and not subject.get("namespace"):
                out.append(required(f"{path}.namespace"))
        elif kind in _SUBJECTS:
            if group != _GROUP:
                out.append(not_supported(f"{path}.apiGroup", group, [_GROUP], named=False))
        else:
            out.append(not_supported(f"{path}.kind", kind, _SUBJECTS, named=False))

    return check


def _role_ref(*kinds: str) -> Check:
    kind = one_of(*kinds, named=False)
    rows = table(
        row("apiGroup", one_of(_GROUP, named=False), zero=""),
        row("kind", kind, zero=""),
        row("name", matches(path_segment), missing=""),
    )

    def check(binding: Mapping[str, Any], _: str, out: Causes) -> None:
        rows(binding.get("roleRef") or {}, "roleRef", out)

    return check


def _rules(create: Check, *more: UpdateCheck) -> Validation:
    return Validation(create=create, update=changes(unchanged(create), *more), revalidate=False)


def _binding(*kinds: str, namespaced: bool) -> Validation:
    subjects = row("subjects", each(_subject(namespaced=namespaced)))
    return _rules(table(_role_ref(*kinds), subjects), _same_role)


def _same_role(new: Json, old: Json, out: Causes) -> None:
    if not same(new.get("roleRef"), old.get("roleRef")):
        out.append(invalid("roleRef", _ROLE_REF(new.get("roleRef") or {}), "cannot change roleRef"))


ROLES = _rules(table(row("rules", each(_rule(namespaced=True)))))
CLUSTERROLES = _rules(table(row("rules", each(_rule(namespaced=False))), _aggregated))
ROLEBINDINGS = _binding("Role", "ClusterRole", namespaced=True)
CLUSTERROLEBINDINGS = _binding("ClusterRole", namespaced=False)
