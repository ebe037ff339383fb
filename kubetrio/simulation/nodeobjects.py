"""Objects of simulated nodes: what their kubelets would write.

Addresses come from ranges that no machine has: those of nodes from the range for benchmarks
(RFC 2544), those of pods from the shared address space (RFC 6598).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, NamedTuple

import orjson

from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.machinery.timestamps import format_micro, format_time
from kubetrio.release import KUBERNETES_VERSION
from kubetrio.resources.writes import WriteOptions
from kubetrio.simulation.annotations import LOST, NODE, NOT_READY, STATE

Object = dict[str, Any]

MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"
"""Annotation of nodes whose kubelets leave it to a controller to attach volumes."""
LEASES = "kube-node-lease"
LEASE_S = 40
"""Validity of a node's Lease in seconds, a kubelet's default."""
KUBELET_PORT = 10250
ZONES = ("a", "b", "c")
CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "256Gi", "pods": "110"}
_NODES = ipaddress.IPv4Network("198.18.0.0/15")
_PODS = ipaddress.IPv4Network("100.64.0.0/10")
_POD_BITS = 8
MOST = 1 << (32 - _POD_BITS - _PODS.prefixlen)
"""Simulated nodes that have a range of addresses for pods."""
_RENEW_TIME = re.compile(
    rb'("spec":\{"holderIdentity":"[^"\\]*","leaseDurationSeconds":\d+,"renewTime":")[^"\\]*"'
)
_CONDITIONS = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class SimulatedNode(NamedTuple):
    """What is kept of a node.

    Args:
        uid: of the node.
        simulated: whether the simulation is its kubelet.
        state: `LOST`, `NOT_READY`, or empty for a node that is well.
        ready: status of its condition ``Ready``, empty without one.
        pod_cidr: range of its pods' addresses, empty for none.
        address: its internal address, empty for none.
        managed: whether it leaves it to a controller to attach volumes.
        attached: unique names of volumes that are attached to it.
        in_use: unique names of volumes that it says to have in use.
        counted: whether it offers the extended resources that it has.
    """

    uid: str
    simulated: bool
    state: str
    ready: str
    pod_cidr: str
    address: str
    managed: bool
    attached: frozenset[str] = frozenset()
    in_use: frozenset[str] = frozenset()
    counted: bool = True

    @property
    def settled(self) -> bool:
        """Whether its status says what its state is to be."""
        if self.state == LOST:
            return True
        ready = "False" if self.state == NOT_READY else "True"
        return bool(self.address) and self.ready == ready and self.counted


def simulated_view(value: bytes) -> SimulatedNode:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    meta, status = node["metadata"], node.get("status") or {}
    annotations = meta.get("annotations") or {}
    conditions = status.get("conditions") or ()
    addresses = status.get("addresses") or ()
    return SimulatedNode(
        uid=meta.get("uid") or "",
        simulated=annotations.get(NODE) == "true",
        state=annotations.get(STATE) or "",
        ready=next((one["status"] for one in conditions if one.get("type") == "Ready"), ""),
        pod_cidr=(node.get("spec") or {}).get("podCIDR") or "",
        address=next((one["address"] for one in addresses if one["type"] == "InternalIP"), ""),
        managed=annotations.get(MANAGED) == "true",
        attached=frozenset(one["name"] for one in status.get("volumesAttached") or ()),
        in_use=frozenset(status.get("volumesInUse") or ()),
        counted=_extended(status.get("capacity")) == _extended(status.get("allocatable")),
    )


def _extended(amounts: Object | None) -> frozenset[str]:
    """The names of extended resources among amounts."""
    names = (amounts or {}).keys()
    return frozenset(name for name in names if "/" in name and "kubernetes.io/" not in name)


def _allocatable(capacity: Object, old: Object) -> Object:
    """What a node offers to pods: what it says already, and the extended resources that it has.

    A kubelet offers each of its capacity, and none that is not in it.  An amount that it
    says stays, as that of a device plugin whose devices are not all healthy.
    """
    there = _extended(capacity)
    gone = _extended(old) - there
    amounts = {name: capacity[name] for name in sorted(there)}
    amounts |= {name: amount for name, amount in old.items() if name not in gone}
    return amounts


def kubelet_of(node: str) -> WriteOptions:
    """How the kubelet of a node writes."""
    user = UserInfo(f"system:node:{node}", groups=("system:nodes", AUTHENTICATED))
    return WriteOptions(user=user, field_manager="kubelet")


def is_kubelet(address: str) -> bool:
    """Whether an address is one of those that simulated nodes have."""
    parsed = ipaddress.ip_address(address)
    return parsed.version == _NODES.version and parsed in _NODES


def is_pod(address: str) -> bool:
    """Whether an address is one of those that pods on simulated nodes have."""
    parsed = ipaddress.ip_address(address)
    return parsed.version == _PODS.version and parsed in _PODS


def pod_range(index: int) -> str:
    """The range of addresses for the pods of a node.

    Args:
        index: of the node, below `MOST`.
    """
    return f"{_PODS.network_address + (index << _POD_BITS)}/{32 - _POD_BITS}"


def index_of(pod_cidr: str) -> int | None:
    """The index that a range was made of, None for any other."""
    try:
        network = ipaddress.IPv4Network(pod_cidr)
    except ValueError:
        return None
    if not network.subnet_of(_PODS):
        return None
    return (int(network.network_address) - int(_PODS.network_address)) >> _POD_BITS


def node_object(name: str, index: int) -> Object:
    """A Node as its kubelet registers it.

    Args:
        name: of the node.
        index: says its zone and the range of its pods' addresses.
    """
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "simulated",
        "topology.kubernetes.io/region": "simulated",
        "topology.kubernetes.io/zone": f"simulated-{ZONES[index % len(ZONES)]}",
    }
    cidr = pod_range(index)
    annotations = {NODE: "true", MANAGED: "true"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"podCIDR": cidr, "podCIDRs": [cidr]},
    }


def with_status(node: Object, now: float) -> Object:
    """A node with the status that its kubelet reports; what it says already stays.

    Args:
        node: as stored, with a range for its pods; it is not changed.
        now: wall clock, in seconds.
    """
    meta, status = node["metadata"], node.get("status") or {}
    ready = (meta.get("annotations") or {}).get(STATE) != NOT_READY
    index = index_of((node.get("spec") or {}).get("podCIDR") or "") or 0
    host = _NODES.network_address + (index + 1)
    labels = meta.get("labels") or {}
    # No name: kubelets are reached by the first type that there is, and no name server knows this.
    addresses = [{"type": "InternalIP", "address": str(host)}]
    info = {
        "machineID": meta.get("uid", "").replace("-", ""),
        "systemUUID": meta.get("uid", ""),
        "bootID": meta.get("uid", ""),
        "kernelVersion": "simulated",
        "osImage": "simulated",
        "containerRuntimeVersion": "simulated://1",
        "kubeletVersion": f"v{KUBERNETES_VERSION}",
        "kubeProxyVersion": "",
        "operatingSystem": labels.get("kubernetes.io/os", "linux"),
        "architecture": labels.get("kubernetes.io/arch", "amd64"),
    }
    offer: Object = status.get("allocatable") or {}
    capacity = status.get("capacity") or CAPACITY | {one: offer[one] for one in _extended(offer)}
    return {
        **node,
        "status": {
            **status,
            "capacity": capacity,
            "allocatable": _allocatable(capacity, offer or capacity),
            "conditions": _conditions(status.get("conditions") or (), format_time(now), ready),
            "addresses": status.get("addresses") or addresses,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "nodeInfo": info,
        },
    }


def _conditions(old: Any, now: str, ready: bool) -> list[Object]:
    """The conditions of a kubelet, and those of others."""
    known = {one["type"]: one for one in old}
    reason, message = "KubeletReady", "kubelet is posting ready status"
    if not ready:
        reason, message = "KubeletNotReady", "the node is simulated as not ready"
    rows = [(type_, "False", why, text) for type_, why, text in _CONDITIONS]
    rows.append(("Ready", "True" if ready else "False", reason, message))
    conditions = []
    for type_, status, why, text in rows:
        was = known.pop(type_, {})
        since = was.get("lastTransitionTime") if was.get("status") == status else None
        conditions.append(
            {
                "type": type_,
                "status": status,
                "lastHeartbeatTime": now,
                "lastTransitionTime": since or now,
                "reason": why,
                "message": text,
            }
        )
    return [*known.values(), *conditions]


def lease_object(node: str, uid: str, now: float) -> Object:
    """The Lease by which a node says that it is there.

    Args:
        node: name of the node.
        uid: of the node, which owns the Lease.
        now: wall clock, in seconds.
    """
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": LEASES, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": format_micro(now),
        },
    }


def renewed_bytes(lease: bytes, now: float) -> bytes | None:
    """The bytes of a Lease that was renewed, found without parsing it.

    Args:
        lease: as stored.
        now: wall clock, in seconds.

    Returns:
        None where the Lease is not written as a kubelet's is.
    """
    parts = _RENEW_TIME.split(lease, maxsplit=1)
    if len(parts) != 3:
        return None
    before, front, after = parts
    return b'%b%b%b"%b' % (before, front, format_micro(now).encode(), after)


def renewed(lease: Object, now: float) -> Object:
    """A Lease that was renewed.

    Args:
        lease: as stored; it is not changed.
        now: wall clock, in seconds.
    """
    return {**lease, "spec": {**(lease.get("spec") or {}), "renewTime": format_micro(now)}}
