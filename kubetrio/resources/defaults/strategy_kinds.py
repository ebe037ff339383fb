"""Preparation of every other kind that has any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubetrio.machinery.gonumbers import parse_int
from kubetrio.resources.defaults.compiling import ordered
from kubetrio.resources.defaults.context import (
    Context,
    Create,
    Json,
    Update,
    copy_member,
)
from kubetrio.schema.annotated import TEMPLATE_GENERATION

_CORE = "io.k8s.api.core.v1."

# ---------------------------------------------------------------- namespaces, nodes, accounts


def create_namespace(namespace: Json, _: Context) -> None:
    """A namespace is active, and its contents are removed before it is."""
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


# ---------------------------------------------------------------- volumes


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


# ---------------------------------------------------------------- workloads


def update_deployment(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Labels are not written through the status; other metadata are."""
    if subresource == "status":
        copy_member(new["metadata"], old["metadata"], "labels")


def create_daemon_set(daemons: Json, _: Context) -> None:
    """The template's generation is an annotation since apps/v1."""
    given = (daemons["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    _set_generation(daemons, max(_number(given), 1))


def update_daemon_set(new: Json, old: Json, _: Context, subresource: str) -> None:
    """The template's generation counts its changes; nobody else sets it."""
    generation = _number((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION))
    if not subresource and new["spec"].get("template") != old["spec"].get("template"):
        generation += 1
    _set_generation(new, generation)


def _number(text: str | None) -> int:
    return parse_int(text) if text else 0


def _set_generation(daemons: Json, generation: int) -> None:
    meta = daemons["metadata"]
    annotations = {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    meta["annotations"] = {key: annotations[key] for key in sorted(annotations)}
    daemons["metadata"] = ordered("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", meta)


_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")
_CONTROLLER = ("controller-uid", "batch.kubernetes.io/controller-uid")


def create_job(job: Json, context: Context) -> None:
    """A job selects its pods by its own identity, unless its author does otherwise.

    Source: docs "Jobs", specifying your own Pod selector.
    """
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    template = spec["template"]
    meta = template.setdefault("metadata", {})
    # a job without a name is refused later
    labels = dict.fromkeys(_JOB_NAME, job["metadata"].get("name") or "")
    labels |= dict.fromkeys(_CONTROLLER, context.uid)
    labels |= meta.get("labels") or {}  # a value that conflicts is refused later
    meta["labels"] = {key: labels[key] for key in sorted(labels)}
    template["metadata"] = ordered("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", meta)
    selector = spec.get("selector") or {}
    matched = {_CONTROLLER[1]: context.uid, **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": {key: matched[key] for key in sorted(matched)}}
    job["spec"] = ordered("io.k8s.api.batch.v1.JobSpec", spec)


# ---------------------------------------------------------------- certificates

_REQUEST = "io.k8s.api.certificates.v1.CertificateSigningRequest"


def create_signing_request(request: Json, context: Context) -> None:
    """Who asks is who is asked for."""
    user = context.user
    spec = {key: value for key, value in request["spec"].items() if key not in _REQUESTOR}
    told = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(user.extra[key]) for key in sorted(user.extra)},
    }
    spec.update((key, value) for key, value in told.items() if value)
    request["spec"] = ordered(f"{_REQUEST}Spec", spec)


_REQUESTOR = ("username", "uid", "groups", "extra")


def _with_decisions(conditions: Sequence[Json], before: Sequence[Json]) -> list[Json]:
    """Conditions with decisions as they were, unless there are more or fewer of them now."""
    result = list(conditions)
    for kind in ("Approved", "Denied"):
        decided = [item for item in before if item.get("type") == kind]
        places = [at for at, item in enumerate(result) if item.get("type") == kind]
        if len(decided) == len(places):
            for at, item in zip(places, decided, strict=True):
                result[at] = item
    return result


def update_signing_request(new: Json, old: Json, context: Context, subresource: str) -> None:
    """The spec never changes; approval writes conditions, and times of conditions are noted."""
    new["spec"] = old["spec"]
    status, was = new.get("status") or {}, old.get("status") or {}
    if not subresource:
        copy_member(new, old, "status")
        return
    if subresource == "approval":
        status = {**was, "conditions": status.get("conditions")}
    else:
        conditions = _with_decisions(status.get("conditions") or (), was.get("conditions") or ())
        status = {**status, "conditions": conditions}
    since = {
        (item.get("type"), item.get("status")): item.get("lastTransitionTime")
        for item in was.get("conditions") or ()
    }
    conditions = [
        {
            **item,
            "lastUpdateTime": item.get("lastUpdateTime") or context.now,
            "lastTransitionTime": item.get("lastTransitionTime")
            or since.get((item.get("type"), item.get("status")))
            or context.now,
        }
        for item in status.get("conditions") or ()
    ]
    status = {**status, "conditions": conditions}
    if not conditions:
        del status["conditions"]
    new["status"] = ordered(f"{_REQUEST}Status", status)


# ---------------------------------------------------------------- extension of the API


def _note_storage_version(definition: Json, stored: list[str]) -> None:
    versions = [
        item["name"] for item in definition["spec"].get("versions") or () if item["storage"]
    ]
    missing = [name for name in versions if name not in stored]
    definition["status"] = {**definition["status"], "storedVersions": [*stored, *missing]}


def create_definition(definition: Json, _: Context) -> None:
    """Objects are stored in the storage version from the beginning."""
    _note_storage_version(definition, [])


def update_definition(new: Json, old: Json, _: Context, subresource: str) -> None:
    """A new storage version is noted beside those that may still be stored."""
    if not subresource and "status" in new:
        _note_storage_version(new, list((old.get("status") or {}).get("storedVersions") or ()))


def create_api_service(service: Json, context: Context) -> None:
    """A version that this server serves itself is available at once."""
    if (service.get("spec") or {}).get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": context.now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [condition]}


# ---------------------------------------------------------------- endpoints, devices


def create_endpoint_slice(slices: Json, _: Context) -> None:
    """The topology of an older version is read and never written."""
    for endpoint in slices.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def update_endpoint_slice(new: Json, old: Json, context: Context, _: str) -> None:
    """Old topology stays as long as the endpoints do; a node name in it is kept."""
    was = old.get("endpoints") or []
    if new.get("endpoints") == was:
        return
    nodes = {item["nodeName"] for item in was if item.get("nodeName")}
    nodes |= {_topology_node(item) for item in was}
    for endpoint in new.get("endpoints") or ():
        node = _topology_node(endpoint)
        if node and node in nodes and endpoint.get("nodeName") is None:
            endpoint["nodeName"] = node
    create_endpoint_slice(new, context)


def _topology_node(endpoint: Json) -> str:
    topology = endpoint.get("deprecatedTopology") or {}
    return str(topology.get("kubernetes.io/hostname") or "")


def create_resource_slice(devices: Json, context: Context) -> None:
    """Taints of devices have a time."""
    for device in (devices.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = context.now


def update_resource_slice(new: Json, _old: Json, context: Context, _: str) -> None:
    """Taints of devices have a time."""
    create_resource_slice(new, context)


def _devices_of(results: list[Json] | None) -> set[tuple[str, str, str]]:
    return {
        (item.get("driver") or "", item.get("pool") or "", item.get("device") or "")
        for item in results or ()
    }


def _allocated(claim: Json) -> set[tuple[str, str, str]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return _devices_of((allocation.get("devices") or {}).get("results"))


def update_resource_claim(new: Json, old: Json, _: Context, subresource: str) -> None:
    """What drivers tell of a device goes with its allocation (KEP-4817)."""
    devices = (new.get("status") or {}).get("devices")
    if subresource != "status" or not devices:
        return
    gone = _allocated(old) - _allocated(new)
    kept = [item for item in devices if not _devices_of([item]) & gone]
    if len(kept) != len(devices):
        new["status"] = {**new["status"], "devices": kept}
        if not kept:
            del new["status"]["devices"]


CREATE: Mapping[tuple[str, str], Create] = {
    ("", "namespaces"): create_namespace,
    ("", "nodes"): create_node,
    ("", "serviceaccounts"): create_service_account,
    ("", "persistentvolumes"): create_volume,
    ("", "persistentvolumeclaims"): create_claim,
    ("apps", "daemonsets"): create_daemon_set,
    ("batch", "jobs"): create_job,
    ("certificates.k8s.io", "certificatesigningrequests"): create_signing_request,
    ("apiextensions.k8s.io", "customresourcedefinitions"): create_definition,
    ("apiregistration.k8s.io", "apiservices"): create_api_service,
    ("discovery.k8s.io", "endpointslices"): create_endpoint_slice,
    ("resource.k8s.io", "resourceslices"): create_resource_slice,
}
UPDATE: Mapping[tuple[str, str], Update] = {
    ("", "namespaces"): update_namespace,
    ("", "nodes"): update_node,
    ("", "serviceaccounts"): update_service_account,
    ("", "persistentvolumes"): update_volume,
    ("", "persistentvolumeclaims"): update_claim,
    ("apps", "daemonsets"): update_daemon_set,
    ("apps", "deployments"): update_deployment,
    ("certificates.k8s.io", "certificatesigningrequests"): update_signing_request,
    ("apiextensions.k8s.io", "customresourcedefinitions"): update_definition,
    ("discovery.k8s.io", "endpointslices"): update_endpoint_slice,
    ("resource.k8s.io", "resourceclaims"): update_resource_claim,
    ("resource.k8s.io", "resourceslices"): update_resource_slice,
}
