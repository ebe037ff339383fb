"""The types of bindings and evictions, which are created below pods and not stored."""

from __future__ import annotations

from kubetrio.kinds.parts import BUILTIN
from kubetrio.schema.kind import Kind

_CREATED = frozenset({"create"})

BINDING = Kind(
    group="",
    version="v1",
    resource="bindings",
    kind="Binding",
    singular="binding",
    namespaced=True,
    verbs=_CREATED,
    schema_name="io.k8s.api.core.v1.Binding",
    builtin=True,
    parts=BUILTIN,
)
EVICTION = Kind(
    group="policy",
    version="v1",
    resource="evictions",
    kind="Eviction",
    singular="eviction",
    namespaced=True,
    verbs=_CREATED,
    schema_name="io.k8s.api.policy.v1.Eviction",
    builtin=True,
    parts=BUILTIN,
)
