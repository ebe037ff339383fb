"""Default roles and bindings as they should be, from what is stored.

What is missing is added and what is extra stays, unless an annotation says that the object is not
to be touched.

Source: docs "Using RBAC Authorization" (auto-reconciliation);
k8s.io/component-helpers/auth/rbac/reconciliation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.auth.rbac.matching import missing

Object = dict[str, Any]

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def is_protected(stored: Object) -> bool:
    """Whether an object is not to be touched."""
    return (stored["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false"


def reconciled_role(stored: Object, wanted: Object) -> Object:
    """A role with what it lacks.

    Args:
        stored: as it is.
        wanted: as it is made anew.
    """
    role = _with_metadata(stored, wanted)
    absent = missing(stored.get("rules") or (), wanted.get("rules") or ())
    if absent:
        role["rules"] = [*(stored.get("rules") or ()), *absent]
    if wanted.get("aggregationRule") is None:
        role.pop("aggregationRule", None)
        return role
    has = (stored.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    needs = wanted["aggregationRule"].get("clusterRoleSelectors") or []
    if lacks := [selector for selector in needs if selector not in has]:
        rule = {**(stored.get("aggregationRule") or {}), "clusterRoleSelectors": [*has, *lacks]}
        role["aggregationRule"] = rule
    return role


def reconciled_binding(stored: Object, wanted: Object) -> Object | None:
    """A binding with the subjects that it lacks; None when it has to be made anew.

    Args:
        stored: as it is.
        wanted: as it is made anew.
    """
    if stored["roleRef"] != wanted["roleRef"]:
        return None
    binding = _with_metadata(stored, wanted)
    has = stored.get("subjects") or []
    if lacks := [subject for subject in wanted.get("subjects") or () if subject not in has]:
        binding["subjects"] = [*has, *lacks]
    return binding


def _with_metadata(stored: Object, wanted: Object) -> Object:
    """An object with the labels and annotations that it lacks."""
    meta = dict(stored["metadata"])
    for name in ("labels", "annotations"):
        both: Mapping[str, str] = {**(wanted["metadata"].get(name) or {}), **(meta.get(name) or {})}
        if both:
            meta[name] = both
    return {**stored, "metadata": meta}
