"""How objects of rbac.authorization.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    age,
    items,
    name,
    text,
)
from kubetrio.schema.printing import Json


def role_binding(obj: Json, now: float) -> list[Any]:
    """Name, Role, Age, Users, Groups, ServiceAccounts."""
    role = obj.get("roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(obj, "subjects"):
        kind, subject_name = text(subject, "kind"), text(subject, "name")
        if kind == "ServiceAccount":
            subject_name = f"{text(subject, 'namespace')}/{subject_name}"
        subjects.setdefault(kind, []).append(subject_name)
    return [
        name(obj),
        f"{text(role, 'kind')}/{text(role, 'name')}",
        age(obj, now),
        *(", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]
