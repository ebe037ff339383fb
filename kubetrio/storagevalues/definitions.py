"""CustomResourceDefinitions as etcd has them: in version v1beta1, which is no longer served.

kube-apiserver stores that version because it is shorter: what all versions of a resource have in
common is said once.  What is read in either version becomes v1.

Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions, v1/conversion.go and
v1beta1/defaults.go; kubernetes/pkg/controlplane/apiserver/apiextensions.go.
"""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

V1: Final = "apiextensions.k8s.io/v1"
V1BETA1: Final = "apiextensions.k8s.io/v1beta1"
# Members of a version, and what they are in the spec where all versions have the same.
_SHARED: Final = {
    "subresources": "subresources",
    "schema": "validation",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
# In the order of the Go struct, which is that of the JSON.
_SPEC: Final = (
    "group",
    "version",
    "names",
    "scope",
    "validation",
    "subresources",
    "versions",
    "additionalPrinterColumns",
    "selectableFields",
    "conversion",
    "preserveUnknownFields",
)
_SPEC_V1: Final = ("group", "names", "scope", "versions", "conversion", "preserveUnknownFields")
_VERSION: Final = (
    "name",
    "served",
    "storage",
    "deprecated",
    "deprecationWarning",
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
)


def to_v1beta1(obj: Json) -> Json:
    """Return a definition of version v1 in version v1beta1."""
    spec = dict(obj["spec"])
    versions = [dict(version) for version in spec.get("versions") or ()]
    for member, in_spec in _SHARED.items():
        first = versions[0].get(member) if versions else None
        if any(version.get(member) != first for version in versions):
            continue
        for version in versions:
            version.pop(member, None)
        if first is not None:
            spec[in_spec] = first
    for version in versions:
        if columns := version.get("additionalPrinterColumns"):
            version["additionalPrinterColumns"] = _renamed(columns, "jsonPath", "JSONPath")
    if columns := spec.get("additionalPrinterColumns"):
        spec["additionalPrinterColumns"] = _renamed(columns, "jsonPath", "JSONPath")
    if versions:
        spec["version"] = versions[0]["name"]
        spec["versions"] = [_ordered(version, _VERSION) for version in versions]
    if (conversion := spec.get("conversion")) is not None:
        spec["conversion"] = _flat(conversion)
    spec["preserveUnknownFields"] = bool(spec.get("preserveUnknownFields"))
    return {**obj, "apiVersion": V1BETA1, "spec": _ordered(spec, _SPEC)}


def to_v1(obj: Json) -> Json:
    """Return a definition of version v1beta1 in version v1."""
    spec = dict(obj["spec"])
    named = spec.pop("version", "")
    versions = [dict(version) for version in spec.get("versions") or ()]
    if not versions and named:
        versions = [{"name": named, "served": True, "storage": True}]
    for member, in_spec in _SHARED.items():
        shared = spec.pop(in_spec, None)
        if shared is not None:
            for version in versions:
                version[member] = shared
    for version in versions:
        if columns := version.get("additionalPrinterColumns"):
            version["additionalPrinterColumns"] = _renamed(columns, "JSONPath", "jsonPath")
    spec["versions"] = [_ordered(version, _VERSION) for version in versions]
    spec["conversion"] = _nested(spec.get("conversion") or {"strategy": "None"})
    spec.setdefault("scope", "Namespaced")
    # It is true where v1beta1 does not say it, and false is not printed in v1.
    if not spec.setdefault("preserveUnknownFields", True):
        del spec["preserveUnknownFields"]
    return {**obj, "apiVersion": V1, "spec": _ordered(spec, _SPEC_V1)}


def _ordered(members: Json, order: tuple[str, ...]) -> Json:
    return {name: members[name] for name in order if name in members}


def _renamed(columns: list[Json], old: str, new: str) -> list[Json]:
    """Columns whose path has another name; it is the last member in one version."""
    renamed = []
    for column in columns:
        made = {name: value for name, value in column.items() if name != old}
        made[new] = column.get(old, "")
        renamed.append(made)
    return renamed


def _flat(conversion: Json) -> Json:
    """The conversion of v1beta1, whose webhook has no place of its own."""
    made: Json = {"strategy": conversion.get("strategy", "")}
    webhook = conversion.get("webhook")
    if webhook is not None:
        if (config := webhook.get("clientConfig")) is not None:
            made["webhookClientConfig"] = config
        if reviews := webhook.get("conversionReviewVersions"):
            made["conversionReviewVersions"] = reviews
    return made


def _nested(conversion: Json) -> Json:
    made: Json = {"strategy": conversion.get("strategy", "")}
    config = conversion.get("webhookClientConfig")
    reviews = conversion.get("conversionReviewVersions")
    if made["strategy"] == "Webhook" and not reviews:
        reviews = ["v1beta1"]
    if config is not None or reviews is not None:
        webhook: Json = {}
        if config is not None:
            webhook["clientConfig"] = config
        webhook["conversionReviewVersions"] = reviews
        made["webhook"] = webhook
    return made
