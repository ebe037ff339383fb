"""What writes of namespaces, nodes, accounts and volumes do beside what their clients say."""

from __future__ import annotations

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.common.metadata import copy_member
from kubetrio.kinds.core.defaults.cluster import label_namespace
from kubetrio.schema.rules import Context, Json

_CORE = "io.k8s.api.core.v1."


def create_namespace(namespace: Json, _: Context) -> None:
    """A namespace is active, and its contents are removed before it is.

    A generated name comes after defaults, and is a label all the same: kube-apiserver sets defaults
    again when it reads what it has stored.
    """
    label_namespace(namespace)
    spec = namespace.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]
    namespace["status"] = {"phase": "Active"}


def update_namespace(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Finalizers of the spec are written through ``finalize`` only."""
    if subresource != "finalize":
        spec = dict(new.get("spec") or {})
        copy_member(spec, old.get("spec") or {}, "finalizers")
        new["spec"] = spec


def create_node(node: Json, _: Context) -> None:
    """Dynamic configuration of kubelets is gone."""
    (node.get("spec") or {}).pop("configSource", None)
    (node.get("status") or {}).pop("config", None)


def update_node(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Dynamic configuration stays where it is still stored."""
    part, name = ("status", "config") if subresource == "status" else ("spec", "configSource")
    if (old.get(part) or {}).get(name) is None:
        (new.get(part) or {}).pop(name, None)


def create_service_account(account: Json, _: Context) -> None:
    """References to secrets are names."""
    if account.get("secrets"):
        account["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in account["secrets"]
        ]


def update_service_account(new: Json, _old: Json, context: Context, _: str) -> None:
    """References to secrets are names."""
    create_service_account(new, context)


def create_volume(volume: Json, context: Context) -> None:
    """A volume is pending from now on."""
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}


def update_volume(new: Json, old: Json, context: Context, subresource: str) -> None:
    """The time of a phase change is noted and kept, unless its author tells it."""
    status, was = new.get("status") or {}, old.get("status") or {}
    if subresource != "status":
        return
    given, before = (part.get("lastPhaseTransitionTime") for part in (status, was))
    if status.get("phase") == was.get("phase"):
        noted = before if given is None else given
    else:
        noted = context.now if given in (None, before) else given
    if noted != given:
        new["status"] = {**status, "lastPhaseTransitionTime": noted}


_COPIED_SOURCES = (
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
)


def _drop_source(spec: Json) -> None:
    """Old clients may only name claims and snapshots; other sources never had an effect."""
    source = spec.get("dataSource")
    if source is None or spec.get("dataSourceRef") is not None:
        return
    if (source.get("apiGroup") or "", source.get("kind") or "") not in _COPIED_SOURCES:
        del spec["dataSource"]


def create_claim(claim: Json, _: Context) -> None:
    """A claim is pending; both ways to name its source say the same (KEP-1495)."""
    claim["status"] = {"phase": "Pending"}
    spec = claim["spec"]
    _drop_foreign_source(spec)
    _drop_source(spec)
    claim["spec"] = _both_sources(spec)


def _both_sources(spec: Json) -> Json:
    """A spec that names its source in both ways when it names it in one (KEP-1495)."""
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if (one is None) == (other is None):
        return spec
    if one is None and (other or {}).get("namespace"):
        return spec  # dataSource has no namespace
    source = one if other is None else other
    name = "dataSourceRef" if other is None else "dataSource"
    both = {**spec, name: {key: (source or {}).get(key) for key in ("apiGroup", "kind", "name")}}
    return ordered(f"{_CORE}PersistentVolumeClaimSpec", both)


def _drop_foreign_source(spec: Json) -> None:
    """Sources in other namespaces are an alpha feature that is off."""
    if (spec.get("dataSourceRef") or {}).get("namespace"):
        del spec["dataSourceRef"]


def update_claim(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Sources that never had an effect do not appear by an update; one way to name them is both."""
    if subresource:
        return
    was, spec = old.get("spec") or {}, dict(new["spec"])
    if was.get("dataSource") is None and was.get("dataSourceRef") is None:
        _drop_foreign_source(spec)
        _drop_source(spec)
    new["spec"] = _both_sources(spec)
