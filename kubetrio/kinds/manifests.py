"""Objects as a user would have written them: what a server adds to them, and which it makes.

A manifest can be applied to another server: without identities, versions, owners of fields and
what is only observed.  In which order many are applied is here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.schema.kind import Kind

Object = dict[str, Any]

_METADATA = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
)  # fmt: skip
_FINALIZERS = {"customresourcecleanup.apiextensions.k8s.io", "kubernetes"}
_EPHEMERAL = {
    ("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases"),
    ("networking.k8s.io", "ipaddresses"), ("apiserver.internal.k8s.io", "storageversions"),
}  # fmt: skip
_LABELS = {
    "kubernetes.io/bootstrapping": "rbac-defaults",
    "kube-aggregator.kubernetes.io/automanaged": "",
    "endpointslice.kubernetes.io/managed-by": "",
    "endpoints.kubernetes.io/managed-by": "",
}
"""Labels of what a server or its controllers make; an empty text stands for any value."""
_ANNOTATIONS = {"apf.kubernetes.io/autoupdate-spec": "true"}
_NAMED = {
    ("", "namespaces"): {"/default", "/kube-system", "/kube-public", "/kube-node-lease"},
    ("", "services"): {"default/kubernetes"},
    ("", "endpoints"): {"default/kubernetes"},
    ("discovery.k8s.io", "endpointslices"): {"default/kubernetes"},
    ("networking.k8s.io", "servicecidrs"): {"/kubernetes"},
    ("scheduling.k8s.io", "priorityclasses"): {
        "/system-cluster-critical", "/system-node-critical",
    },
    ("", "configmaps"): {
        "kube-system/extension-apiserver-authentication",
        "kube-system/kube-apiserver-legacy-service-account-token-tracking",
    },
}  # fmt: skip
_EVERYWHERE = {("", "configmaps"): "kube-root-ca.crt", ("", "serviceaccounts"): "default"}
_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  (a type of Secret)
_JOB_LABELS = (
    "controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)  # fmt: skip

_FIRST = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): 0,
    ("", "Namespace"): 1,
    ("", "ServiceAccount"): 2,
    ("", "Secret"): 2,
    ("", "ConfigMap"): 2,
    ("scheduling.k8s.io", "PriorityClass"): 2,
    ("storage.k8s.io", "StorageClass"): 2,
    ("", "PersistentVolume"): 2,
}
_ROLES = 3
_OTHERS = 4
_LAST = 5
_LATE = {
    "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService",
    "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding",
}  # fmt: skip
"""What says no to others, or needs others to answer."""


def rank(obj: Mapping[str, Any]) -> int:
    """When an object is applied, beside others: those with small numbers first."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind") or "")
    if kind in _LATE:
        return _LAST
    if group == "rbac.authorization.k8s.io":
        return _ROLES
    return _FIRST.get((group, kind), _OTHERS)


def is_made_by_server(kind: Kind, obj: Mapping[str, Any]) -> bool:
    """Whether every server makes such an object itself, or it says what was and not what is wanted.

    Args:
        kind: its kind.
        obj: the object.
    """
    of, meta = (kind.group, kind.resource), obj["metadata"]
    name, namespace = meta.get("name"), meta.get("namespace") or ""
    if of in _EPHEMERAL or f"{namespace}/{name}" in _NAMED.get(of, ()):
        return True
    if _EVERYWHERE.get(of) == name:
        return True
    if is_secret(kind) and obj.get("type") == _TOKEN:
        return True
    for given, known in (
        (meta.get("labels") or {}, _LABELS),
        (meta.get("annotations") or {}, _ANNOTATIONS),
    ):
        if any(label in given and value in ("", given[label]) for label, value in known.items()):
            return True
    return False


def is_secret(kind: Kind) -> bool:
    """Whether objects of a kind are exported only on request."""
    return (kind.group, kind.resource) == ("", "secrets")


def is_owned(obj: Mapping[str, Any]) -> bool:
    """Whether a controller made it and would make it again."""
    return any(one.get("controller") for one in obj["metadata"].get("ownerReferences") or ())


def manifest(kind: Kind, obj: Mapping[str, Any]) -> Object:
    """An object without what servers add.

    Args:
        kind: its kind.
        obj: as it is stored; it is not changed.
    """
    result: Object = copy_json(dict(obj))
    meta = result["metadata"]
    for member in _METADATA:
        meta.pop(member, None)
    finalizers = [one for one in meta.pop("finalizers", ()) if one not in _FINALIZERS]
    if finalizers:
        meta["finalizers"] = finalizers
    if "status" in kind.subresources:
        result.pop("status", None)
    spec = result.get("spec")
    if kind.group == "" and isinstance(spec, dict):
        if kind.resource == "services" and spec.get("clusterIP") != "None":
            for member in ("clusterIP", "clusterIPs"):
                spec.pop(member, None)
        if kind.resource == "persistentvolumes":
            for member in ("uid", "resourceVersion"):
                (spec.get("claimRef") or {}).pop(member, None)
        if kind.resource == "namespaces":
            result.pop("spec", None)  # its finalizers are the server's
    if (kind.group, kind.resource) == ("batch", "jobs") and isinstance(spec, dict):
        _without_uid(result, spec)
    return result


def _without_uid(made: Object, spec: Object) -> None:
    """A Job selects its pods by its own uid, unless it says otherwise."""
    if spec.get("manualSelector"):
        return
    spec.pop("selector", None)
    template = (spec.get("template") or {}).get("metadata") or {}
    for holder in (made["metadata"], template):
        labels = holder.get("labels") or {}
        for label in _JOB_LABELS:
            labels.pop(label, None)
        if not labels:
            holder.pop("labels", None)
