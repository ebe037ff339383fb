"""From a CustomResourceDefinition to the kinds that it has served.

Source: docs "Versions in CustomResourceDefinitions", "Extend the Kubernetes API with
CustomResourceDefinitions"; k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubetrio.crd.custom import CustomParts, custom_prefix
from kubetrio.crd.customtype import Shared, Version
from kubetrio.machinery.names import GroupResource, GroupVersionKind, version_order
from kubetrio.schema.discovery import CUSTOM_VERBS
from kubetrio.schema.kind import Conversion, Family, Kind, ScalePaths, Subresource, WaitingConvert

Json = dict[str, Any]
SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
PARTLY: Final = frozenset({"get", "patch", "update"})
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is made of a definition.

    Args:
        kinds: the versions that are served.
        stored: the kind in the version in which objects are stored, served or not.
        shared: what changes while it is served.
        said: what of the definition it was made of.
    """

    kinds: Sequence[Kind]
    stored: Kind
    shared: Shared
    said: Any

    def made_of(self, definition: Json) -> bool:
        """Whether a definition, as it is now, makes the same kinds."""
        return bool(self.said == what_counts(definition))


def has_condition(definition: Json, kind: str) -> bool:
    """Whether a condition of a definition is true."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def what_counts(definition: Json) -> Any:
    """What of a definition its kinds are made of: when that changes, they are made anew."""
    return definition["spec"], (definition.get("status") or {}).get("acceptedNames")


def served(definition: Json, waiting: WaitingConvert | None = None) -> Served:
    """The kinds of a definition whose names were accepted.

    Args:
        definition: the object; it must not change.
        waiting: converts between versions, None where only their names differ.
    """
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, plural = spec["group"], names["plural"]
    shared = Shared(
        resource=GroupResource(group, plural),
        preserves=bool(spec.get("preserveUnknownFields")),
        terminating=has_condition(definition, "Terminating"),
    )
    family = Family()
    versions = sorted(spec["versions"], key=lambda version: not version["storage"])
    kinds = [
        family.add(_kind(spec, names, version, family, shared, waiting)) for version in versions
    ]
    offered = {version["name"] for version in versions if version["served"]}
    return Served(
        kinds=[kind for kind in kinds if kind.version in offered],
        stored=kinds[0],
        shared=shared,
        said=what_counts(definition),
    )


def _kind(
    spec: Json,
    names: Json,
    version: Json,
    family: Family,
    shared: Shared,
    waiting: WaitingConvert | None,
) -> Kind:
    group, name, kind = spec["group"], version["name"], names["kind"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    below = _subresources(GroupVersionKind(group, name, kind), version.get("subresources") or {})
    type_ = Version(schema, shared, status="status" in below)
    shared.versions[name] = type_
    return Kind(
        group=group,
        version=name,
        resource=names["plural"],
        kind=kind,
        lists=names.get("listKind") or "",
        singular=names.get("singular") or "",
        namespaced=spec["scope"] == "Namespaced",
        verbs=frozenset(CUSTOM_VERBS),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        storage_version_hash=_storage_hash(spec, kind),
        storage_prefix=custom_prefix(group, names["plural"]),
        family=family,
        subresources=below,
        deprecated=_deprecation(spec, version, kind),
        parts=CustomParts(
            schema=schema,
            columns=version.get("additionalPrinterColumns"),
            selectable=[field["jsonPath"] for field in version.get("selectableFields") or ()],
            converts=None if waiting is None else Conversion.awaited(waiting, type_.coerced),
            version=type_,
        ),
    )


def _subresources(gvk: GroupVersionKind, said: Json) -> dict[str, Subresource]:
    subresources: dict[str, Subresource] = {}
    if said.get("status") is not None:
        subresources["status"] = Subresource(name="status", kind=gvk, verbs=PARTLY)
    scale = said.get("scale")
    if scale is not None:
        subresources["scale"] = Subresource(
            name="scale",
            kind=SCALE,
            verbs=PARTLY,
            serves="scale",
            replicas=ScalePaths(
                scale["specReplicasPath"],
                scale["statusReplicasPath"],
                scale.get("labelSelectorPath") or "",
            ),
        )
    return subresources


def _storage_hash(spec: Json, kind: str) -> str:
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    digest = hashlib.sha256(f"{spec['group']}/{stored}/{kind}".encode()).digest()
    return base64.b64encode(digest[:_HASH_BYTES]).decode()


def _deprecation(spec: Json, version: Json, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    if (text := version.get("deprecationWarning")) is not None:
        return str(text)
    group, mine = spec["group"], version["name"]
    better = [
        other["name"]
        for other in spec["versions"]
        if other["served"]
        and not other.get("deprecated")
        and version_order(other["name"]) < version_order(mine)
    ]
    default_text = f"{group}/{mine} {kind} is deprecated"
    if not better:
        return default_text
    return f"{default_text}; use {group}/{min(better, key=version_order)} {kind}"
