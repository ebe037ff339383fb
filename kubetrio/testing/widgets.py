"""A made-up kind for tests: ``widgets.example.com`` in two versions, one field of which is renamed.

What a CustomResourceDefinition would say of it is made here by hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kubetrio.crd.custom import CustomParts, custom_prefix
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema.discovery import CUSTOM_VERBS
from kubetrio.schema.kind import Conversion, Family, Kind, ScalePaths, Subresource

Json = dict[str, Any]

GROUP: Final = "example.com"
DEPRECATED: Final = "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"
SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
PARTLY: Final = frozenset({"get", "patch", "update"})


def schema(size: str) -> Json:
    """The ``openAPIV3Schema`` of a version.

    Args:
        size: name of the field that is renamed.
    """
    return {
        "type": "object",
        "description": "A Widget does nothing, well.",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    size: {"type": "integer", "description": "How large it is."},
                    "color": {"type": "string"},
                    "replicas": {"type": "integer"},
                    "tags": {
                        "type": "array",
                        "items": {"type": "string"},
                        "x-kubernetes-list-type": "set",
                    },
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "selector": {"type": "string"},
                },
            },
        },
    }


def _renamed(obj: Json, old: str, new: str) -> Json:
    spec = obj.get("spec")
    if not isinstance(spec, dict) or old not in spec:
        return obj
    return {**obj, "spec": {new if name == old else name: v for name, v in spec.items()}}


def widgets(group: str = GROUP, resource: str = "widgets", kind: str = "Widget") -> list[Kind]:
    """The kind in its two versions, that in which objects are stored first.

    Args:
        group: API group.
        resource: plural name.
        kind: name of the kind.
    """
    family = Family()
    stored = Kind(
        group=group,
        version="v1",
        resource=resource,
        kind=kind,
        singular=kind.lower(),
        namespaced=True,
        verbs=frozenset(CUSTOM_VERBS),
        short_names=("wd",),
        categories=("all",),
        storage_prefix=custom_prefix(group, resource),
        family=family,
        subresources=_subresources(GroupVersionKind(group, "v1", kind)),
        parts=CustomParts(
            schema=schema("size"),
            columns=[
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
            selectable=[".spec.color", ".spec.size"],
        ),
    )
    older = replace(
        stored,
        version="v1beta1",
        deprecated=DEPRECATED,
        subresources=_subresources(GroupVersionKind(group, "v1beta1", kind)),
        parts=CustomParts(
            schema=schema("extent"),
            columns=[{"name": "Extent", "type": "integer", "jsonPath": ".spec.extent"}],
            selectable=[".spec.extent"],
            converts=Conversion(
                lambda obj: _renamed(obj, "extent", "size"),
                lambda obj: _renamed(obj, "size", "extent"),
            ),
        ),
    )
    return [family.add(stored), family.add(older)]


def _subresources(gvk: GroupVersionKind) -> dict[str, Subresource]:
    return {
        "status": Subresource(name="status", kind=gvk, verbs=PARTLY),
        "scale": Subresource(
            name="scale",
            kind=SCALE,
            verbs=PARTLY,
            serves="scale",
            replicas=ScalePaths(".spec.replicas", ".status.replicas", ".status.selector"),
        ),
    }


def widget(name: str, version: str = "v1", **spec: Any) -> Json:
    """A widget as a client sends it."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }
