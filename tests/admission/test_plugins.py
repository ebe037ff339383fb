"""Admission plugins on a whole server: what they add, what they refuse."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubetrio.testing.client import Client

CORE = "/api/v1"
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [{"name": "c", "image": "i"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def priority(name: str, value: int, **more: Any) -> dict[str, Any]:
    meta = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**meta, "metadata": {"name": name}, "value": value, **more}


async def test_pods_get_priority_and_tolerations(client: Client) -> None:
    """Without a class the priority is zero; tolerations that are there are kept."""
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = (await client.request("POST", PODS, json=pod("p", tolerations=[own]))).json()["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"][0] == own
    assert [each["key"] for each in spec["tolerations"][1:]] == ["node.kubernetes.io/unreachable"]


async def test_the_global_default_class(client: Client) -> None:
    """There is one at most, and pods without a class get it."""
    first = priority("gold", 7, globalDefault=True)
    assert (await client.request("POST", CLASSES, json=first)).status == 201
    spec = (await client.request("POST", PODS, json=pod("p"))).json()["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (7, "gold")
    second = await client.request("POST", CLASSES, json=priority("b", 1, globalDefault=True))
    assert second.status == 403
    assert second.json()["message"].endswith(
        "PriorityClass gold is already marked as default. Only one default can exist"
    )


async def test_priorities_are_not_for_clients(client: Client) -> None:
    """Neither a number of their own nor a class that does not exist."""
    wrong = await client.request("POST", PODS, json=pod("p", priority=5))
    assert "must not be provided in pod spec" in wrong.json()["message"]
    absent = await client.request("POST", PODS, json=pod("p", priorityClassName="x"))
    assert absent.json()["message"] == (
        'pods "p" is forbidden: no PriorityClass with name x was found'
    )
    assert (await client.request("DELETE", CLASSES + "/system-node-critical")).status == 403


@pytest.mark.parametrize(
    ("path", "obj", "finalizer"),
    [
        (
            f"{CORE}/namespaces/default/persistentvolumeclaims",
            {
                "kind": "PersistentVolumeClaim",
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            },
            "kubernetes.io/pvc-protection",
        ),
        (
            f"{CORE}/persistentvolumes",
            {
                "kind": "PersistentVolume",
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "hostPath": {"path": "/x"},
                },
            },
            "kubernetes.io/pv-protection",
        ),
    ],
)
async def test_storage_is_protected(
    client: Client, path: str, obj: dict[str, Any], finalizer: str
) -> None:
    """New claims and volumes carry a finalizer."""
    body = {"apiVersion": "v1", "metadata": {"name": "x"}, **obj}
    made = await client.request("POST", path, json=body)
    assert made.json()["metadata"]["finalizers"] == [finalizer]


async def test_default_classes_are_the_newest_marked(client: Client) -> None:
    """A claim that names the empty class keeps it."""
    meta = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    for name in ("b", "a"):
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, **meta},
            "provisioner": "x.example.com",
        }
        await client.request("POST", "/apis/storage.k8s.io/v1/storageclasses", json=body)
    path = f"{CORE}/namespaces/default/persistentvolumeclaims"
    found = []
    for name, more in (("one", {}), ("two", {"storageClassName": ""})):
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1"}},
            **more,
        }
        kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        made = await client.request(
            "POST", path, json={**kind, "metadata": {"name": name}, "spec": spec}
        )
        found.append(made.json()["spec"]["storageClassName"])
    assert found == ["a", ""]


async def test_new_nodes_are_tainted(client: Client) -> None:
    """Until something finds them ready."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    made = (await client.request("POST", f"{CORE}/nodes", json=node)).json()
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [taint]


async def test_runtime_classes_cost_something(client: Client) -> None:
    """Overhead and tolerations come from the class, a class must exist."""
    body = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "vm"},
        "handler": "vm",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}},
    }
    await client.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", json=body)
    made = (await client.request("POST", PODS, json=pod("p", runtimeClassName="vm"))).json()
    assert made["spec"]["overhead"] == {"cpu": "250m"}
    assert made["spec"]["nodeSelector"] == {"vm": "yes"}
    clash = pod("q", runtimeClassName="vm", nodeSelector={"vm": "no"})
    assert (
        "conflict: runtimeClass.scheduling"
        in (await client.request("POST", PODS, json=clash)).json()["message"]
    )
    absent = await client.request("POST", PODS, json=pod("q", runtimeClassName="none"))
    assert absent.status == 403


async def test_bound_pods_carry_their_zone(client: Client) -> None:
    """Labels of the node that is named, at creation and by binding."""
    zone = {"topology.kubernetes.io/zone": "z1"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": zone}}
    await client.request("POST", f"{CORE}/nodes", json=node)
    made = (await client.request("POST", PODS, json=pod("p", nodeName="n"))).json()
    assert made["metadata"]["labels"] == zone
    await client.request("POST", PODS, json=pod("q"))
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "q"}, "target": target}
    assert (await client.request("POST", PODS + "/q/binding", json=body)).status == 201
    bound = (await client.request("GET", PODS + "/q")).json()
    assert bound["metadata"]["labels"] == zone


async def test_limit_ranges(client: Client) -> None:
    """Defaults are filled in and noted; what is out of range is refused with every reason."""
    limits = [
        {"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}},
        {"type": "Pod", "max": {"cpu": "2"}},
    ]
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": limits},
    }
    await client.request("POST", f"{CORE}/namespaces/default/limitranges", json=body)
    made = (await client.request("POST", PODS, json=pod("p"))).json()
    assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "500m"}
    assert "kubernetes.io/limit-ranger" in made["metadata"]["annotations"]
    big = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "3"}}}
    refused = await client.request("POST", PODS, json=pod("q", containers=[big]))
    assert refused.json()["message"] == (
        'pods "q" is forbidden: [maximum cpu usage per Container is 1, but limit is 3, '
        "maximum cpu usage per Pod is 2, but limit is 3]"
    )
    own = {"limits": {"cpu": "3"}}
    refused = await client.request("POST", PODS, json=pod("q", resources=own))
    assert refused.json()["message"] == (
        'pods "q" is forbidden: maximum cpu usage per Pod is 2, but limit is 3'
    )


async def test_limit_ranges_and_pods_without_containers(client: Client) -> None:
    """What is not there has no defaults; that it has to be there is told by validation."""
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}]
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": limits},
    }
    await client.request("POST", f"{CORE}/namespaces/default/limitranges", json=body)
    for spec in ({}, {"containers": None, "initContainers": None}):
        sent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        refused = await client.request("POST", PODS, json=sent)
        assert refused.json()["message"] == 'Pod "p" is invalid: spec.containers: Required value'


def csr(organization: str) -> dict[str, Any]:
    """A certificate signing request for a client certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "me"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
        ]
    )
    built = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }


@pytest.mark.parametrize(("organization", "status"), [("devs", 201), ("system:masters", 403)])
async def test_nobody_is_certified_as_master(
    client: Client, organization: str, status: int
) -> None:
    """The group is refused before anybody could approve it."""
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    answer = await client.request("POST", path, json=csr(organization))
    assert answer.status == status


async def test_claims_grow_where_their_class_allows(client: Client) -> None:
    """Bound claims of a class that allows it."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "provisioner": "x.example.com",
    }
    statuses = []
    for name, allowed in (("yes", True), ("no", False)):
        made = {**storage, "metadata": {"name": name}, "allowVolumeExpansion": allowed}
        await client.request("POST", "/apis/storage.k8s.io/v1/storageclasses", json=made)
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {
                "storageClassName": name,
                "volumeName": "v",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        path = f"{CORE}/namespaces/default/persistentvolumeclaims"
        await client.request("POST", path, json=claim)
        merge = {"Content-Type": "application/merge-patch+json"}
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await client.request("PATCH", f"{path}/{name}/status", headers=merge, json=bound)
        more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        answer = await client.request("PATCH", f"{path}/{name}", headers=merge, json=more)
        statuses.append(answer.status)
    assert statuses == [200, 403]
