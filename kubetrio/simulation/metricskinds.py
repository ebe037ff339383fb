"""The kinds of metrics.k8s.io, which a cluster with simulated nodes serves itself.

Discovery, columns and roles are those of metrics-server.

Source: kubernetes-sigs/metrics-server/pkg/api (table.go, install.go), manifests/base/rbac.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.schema.fieldselectors import SHORT, FieldSelectors
from kubetrio.schema.kind import Kind, PlainParts
from kubetrio.schema.objecttype import ObjectType, OpenType
from kubetrio.schema.printing import Column, Json, Printer
from kubetrio.simulation.usage import CPU, MEMORY, Use

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
SERVES = "metrics"
"""What serves them, in `api.subresources.verbs`."""
ROLE: Mapping[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "system:aggregated-metrics-reader",
        "labels": {
            "k8s-app": "metrics-server",
            **{
                f"rbac.authorization.k8s.io/aggregate-to-{role}": "true"
                for role in ("admin", "edit", "view")
            },
        },
    },
    "rules": [
        {
            "apiGroups": [GROUP],
            "resources": ["pods", "nodes"],
            "verbs": ["get", "list", "watch"],
        }
    ],
}
"""The role by which users who may view pods may see what they use."""

_COLUMNS = (
    Column("Name", "string", "name", description="Name of the resource"),
    Column(CPU, "string", "quantity"),
    Column(MEMORY, "string", "quantity"),
    Column("Window", "string", "duration"),
)
_QUANTITIES = {
    "type": "object",
    "additionalProperties": {"type": "string"},
}
_COMMON = {
    "timestamp": {"type": "string", "format": "date-time"},
    "window": {"type": "string"},
}
_NODE_SCHEMA = {"type": "object", "properties": {**_COMMON, "usage": _QUANTITIES}}
_POD_SCHEMA = {
    "type": "object",
    "properties": {
        **_COMMON,
        "containers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "usage": _QUANTITIES},
            },
        },
    },
}


def metrics_kinds() -> list[Kind]:
    """NodeMetrics and PodMetrics."""
    return [
        _kind("nodes", "NodeMetrics", _NODE_SCHEMA, namespaced=False),
        _kind("pods", "PodMetrics", _POD_SCHEMA, namespaced=True),
    ]


def _kind(resource: str, name: str, schema: dict[str, Any], *, namespaced: bool) -> Kind:
    return Kind(
        group=GROUP,
        version=VERSION,
        resource=resource,
        kind=name,
        singular="",
        namespaced=namespaced,
        verbs=frozenset({"get", "list"}),
        serves=SERVES,
        parts=_Parts(schema),
    )


class _Parts(PlainParts):
    """Parts of a kind of metrics.

    Args:
        schema: of its objects, as OpenAPI shows it.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def printer(self, _: Kind) -> Printer:
        """See `KindParts`."""
        return Printer(columns=_COLUMNS, cells=_cells)

    def object_type(self, _: Kind) -> ObjectType:
        """See `KindParts`."""
        return OpenType(self._schema)

    def selectors(self, kind: Kind) -> FieldSelectors:
        """See `KindParts`."""
        names = ("metadata.name", "metadata.namespace")
        return FieldSelectors(supported=names if kind.namespaced else names[:1], refusal=SHORT)


def _cells(obj: Json, _: float) -> list[Any]:
    if "usage" in obj:
        usage = obj["usage"]
    else:
        usage = Use.total(Use.read(one["usage"]) for one in obj["containers"]).shown()
    return [obj["metadata"]["name"], usage[CPU], usage[MEMORY], obj["window"]]
