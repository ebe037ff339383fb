"""rbac.authorization.k8s.io/v1."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, each, within

GROUP = "rbac.authorization.k8s.io"


def default_group(subject: Json) -> None:
    """Users and groups are of this API group, service accounts of the core group."""
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = GROUP


_BINDING: Rules = (
    each("subjects", Call(default_group)),
    within("roleRef", Default("apiGroup", GROUP)),
)

ROLEBINDINGS: Rules = _BINDING
CLUSTERROLEBINDINGS: Rules = _BINDING
