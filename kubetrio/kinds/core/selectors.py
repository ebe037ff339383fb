"""Fields that objects of the core group can be selected by."""

from __future__ import annotations

from kubetrio.schema.fieldselectors import (
    SHORT,
    FieldSelectors,
    Object,
    at,
    below,
    text_of,
)

REFERENCE = "kind namespace name uid apiVersion resourceVersion fieldPath"


def _pod_ip(obj: Object) -> str:
    status = obj.get("status") or {}
    addresses = status.get("podIPs") or ()
    return text_of(addresses[0].get("ip")) if addresses else text_of(status.get("podIP"))


def _event_source(obj: Object) -> str:
    component = (obj.get("source") or {}).get("component")
    return text_of(component) or text_of(obj.get("reportingComponent"))


def _never(_: Object) -> str:
    return ""


EVENTS = FieldSelectors(
    getters={
        **below("involvedObject", REFERENCE),
        "reason": at("reason"),
        "reportingComponent": at("reportingComponent"),
        "source": _event_source,
        "type": at("type"),
    },
    refusal=SHORT,
)
NAMESPACES = FieldSelectors(getters={"status.phase": at("status.phase")}, refusal=SHORT)
NODES = FieldSelectors(
    getters={"spec.unschedulable": at("spec.unschedulable", "false")}, refusal=SHORT
)
PODS = FieldSelectors(
    getters={
        "spec.hostNetwork": at("spec.hostNetwork", "false"),
        "spec.nodeName": at("spec.nodeName"),
        "spec.restartPolicy": at("spec.restartPolicy"),
        "spec.schedulerName": at("spec.schedulerName"),
        "spec.serviceAccountName": at("spec.serviceAccountName"),
        "status.nominatedNodeName": at("status.nominatedNodeName"),
        "status.phase": at("status.phase"),
        "status.podIP": _pod_ip,
        "status.podIPs": _never,  # accepted, never filled in
    },
    refusal=SHORT,
)
REPLICATIONCONTROLLERS = FieldSelectors(
    getters={"status.replicas": at("status.replicas", "0")}, refusal=SHORT
)
SECRETS = FieldSelectors(getters={"type": at("type")}, refusal=SHORT)
SERVICES = FieldSelectors(
    getters={"spec.clusterIP": at("spec.clusterIP"), "spec.type": at("spec.type")},
    refusal=SHORT,
)
