"""Rules of single kinds that no table can say: defaults filled in before validation.

Keyed by group and plural name; a function changes the object in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.schema.registry import ResourceType

Object = dict[str, Any]
Defaulter = Callable[[Object], None]


def default_namespace(obj: Object) -> None:
    """The label that names it, the finalizer of the namespace controller, the phase."""
    meta = obj["metadata"]
    labels = dict(meta.get("labels") or {})
    labels.setdefault("kubernetes.io/metadata.name", meta.get("name", ""))
    meta["labels"] = dict(sorted(labels.items()))
    spec = obj.setdefault("spec", {})
    spec.setdefault("finalizers", ["kubernetes"])
    status = obj.setdefault("status", {})
    status.setdefault("phase", "Active")


def default_secret(obj: Object) -> None:
    """Secrets without a type are opaque."""
    if not obj.get("type"):
        obj["type"] = "Opaque"


DEFAULTERS: Mapping[tuple[str, str], Defaulter] = {
    ("", "namespaces"): default_namespace,
    ("", "secrets"): default_secret,
}


def apply_defaults(resource: ResourceType, obj: Object) -> None:
    """Fill in the defaults of a kind."""
    defaulter = DEFAULTERS.get((resource.group, resource.resource))
    if defaulter is not None:
        defaulter(obj)
