"""The fields each resource can be selected by: how to read them, what to say about others.

Source: recorded answers of kube-apiserver 1.36 and "Field Selectors" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kubetrio.machinery.fielderrors import quote

Object = Mapping[str, Any]
Getter = Callable[[Object], str]

# Groups compiled into kube-apiserver: a resource of any other group is a custom one.
_BUILTIN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
# Built-in resources with fields of their own, which for that reason have the short message.
_SHORT_MESSAGE = frozenset(
    {
        ("", "events"),
        ("", "namespaces"),
        ("", "nodes"),
        ("", "pods"),
        ("", "replicationcontrollers"),
        ("", "secrets"),
        ("", "services"),
        ("certificates.k8s.io", "certificatesigningrequests"),
        ("events.k8s.io", "events"),
    }
)


def unsupported_message(group: str, version: str, resource: str, kind: str, field: str) -> str:
    """The message about a field that a resource cannot be selected by.

    Args:
        group: API group, empty for core.
        version: API version.
        resource: plural name.
        kind: kind name.
        field: the field path asked for.
    """
    if (group, resource) == ("batch", "jobs"):
        return f"field label {quote(field)} not supported for {kind}"
    if (group, resource) == ("resource.k8s.io", "resourceslices"):
        return f"field label not supported for {group}/{version}, Kind={kind}: {field}"
    if (group, resource) in _SHORT_MESSAGE or group not in _BUILTIN_GROUPS:
        return f"field label not supported: {field}"
    return (
        f'{quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def _text(value: Any) -> str:
    """A scalar as text; the empty string for what has no value or is not a scalar."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else ""


def _at(path: str, default: str = "") -> Getter:
    """Reads the scalar at a path of member names; default for a missing or empty one."""
    names = path.split(".")

    def get(obj: Object) -> str:
        value: Any = obj
        for name in names:
            if not isinstance(value, Mapping):
                return default
            value = value.get(name)
        return _text(value) or default

    return get


def _pod_ip(obj: Object) -> str:
    status = obj.get("status") or {}
    addresses = status.get("podIPs") or ()
    return _text(addresses[0].get("ip")) if addresses else _text(status.get("podIP"))


def _event_source(obj: Object) -> str:
    component = (obj.get("source") or {}).get("component")
    return _text(component) or _text(obj.get("reportingComponent"))


def _constant(text: str) -> Getter:
    return lambda _: text


def _below(prefix: str, names: str, stored: str = "") -> dict[str, Getter]:
    """Fields of a member, which may be stored under another name."""
    return {f"{prefix}.{name}": _at(f"{stored or prefix}.{name}") for name in names.split()}


_REFERENCE = "kind namespace name uid apiVersion resourceVersion fieldPath"

# Fields have the names of the version asked for and are read from the object as it is stored:
# events of both groups are stored with the names of core/v1.
_GETTERS: dict[str, dict[str, Getter]] = {
    "/v1/events": {
        **_below("involvedObject", _REFERENCE),
        "reason": _at("reason"),
        "reportingComponent": _at("reportingComponent"),
        "source": _event_source,
        "type": _at("type"),
    },
    "events.k8s.io/v1/events": {
        **_below("regarding", _REFERENCE, "involvedObject"),
        "reason": _at("reason"),
        "reportingController": _at("reportingComponent"),
        "type": _at("type"),
    },
    "/v1/namespaces": {"status.phase": _at("status.phase")},
    "/v1/nodes": {"spec.unschedulable": _at("spec.unschedulable", "false")},
    "/v1/pods": {
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "spec.nodeName": _at("spec.nodeName"),
        "spec.restartPolicy": _at("spec.restartPolicy"),
        "spec.schedulerName": _at("spec.schedulerName"),
        "spec.serviceAccountName": _at("spec.serviceAccountName"),
        "status.nominatedNodeName": _at("status.nominatedNodeName"),
        "status.phase": _at("status.phase"),
        "status.podIP": _pod_ip,
        "status.podIPs": _constant(""),  # accepted, never filled in
    },
    "/v1/replicationcontrollers": {"status.replicas": _at("status.replicas", "0")},
    "/v1/secrets": {"type": _at("type")},
    "/v1/services": {"spec.clusterIP": _at("spec.clusterIP"), "spec.type": _at("spec.type")},
    "batch/v1/jobs": {"status.successful": _at("status.succeeded", "0")},
    "certificates.k8s.io/v1/certificatesigningrequests": {
        "spec.signerName": _at("spec.signerName")
    },
    "resource.k8s.io/v1/resourceslices": {
        "spec.driver": _at("spec.driver"),
        "spec.nodeName": _at("spec.nodeName"),
    },
}
_METADATA: dict[str, Getter] = {
    "metadata.name": _at("metadata.name"),
    "metadata.namespace": _at("metadata.namespace"),
}
_NO_GETTERS: dict[str, Getter] = {}


def getter(field: str, resource_key: str) -> Getter:
    """How to read one field.

    Args:
        field: field path.
        resource_key: ``group/version/resource``, such as ``/v1/pods``.

    Returns:
        A function from an object to the field's text, empty when there is none; booleans are
        ``true`` and ``false``.  A field without a rule is read at its path.
    """
    known = _GETTERS.get(resource_key, _NO_GETTERS)
    return known.get(field) or _METADATA.get(field) or _at(field)


def values(obj: Object, resource_key: str, extra: Collection[str] = ()) -> dict[str, str]:
    """Every field of an object that its resource can be selected by.

    Args:
        obj: the object as it is stored.
        resource_key: ``group/version/resource``, such as ``/v1/pods``.
        extra: more field paths, such as the selectable fields of a custom resource.
    """
    out = {name: get(obj) for name, get in _METADATA.items()}
    for name, get in _GETTERS.get(resource_key, _NO_GETTERS).items():
        out[name] = get(obj)
    for name in extra:
        if name not in out:
            out[name] = _at(name)(obj)
    return out
