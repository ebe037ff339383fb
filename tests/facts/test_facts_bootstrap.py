"""Objects of a fresh server, without what differs from server to server."""

from typing import Any

from facts.bootstrap import aggregated, objects

META = {"uid": "u", "resourceVersion": "1", "creationTimestamp": "now", "managedFields": []}


def made(kind: str, name: str, namespace: str = "", **members: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= members.pop("metadata", {})
    return {"apiVersion": "v1", "kind": kind, "metadata": {**metadata, **META}, **members}


ENDPOINTS = made(
    "Endpoints",
    "kubernetes",
    "default",
    subsets=[{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"name": "https", "port": 6443}]}],
)


def test_keys_and_metadata() -> None:
    """A key names kind, namespace and name; what the server generates is left out."""
    found = objects([made("Namespace", "default"), made("Role", "r", "kube-system")])
    assert list(found) == ["Namespace default", "Role kube-system/r"]
    assert found["Namespace default"]["metadata"] == {"name": "default"}


def test_places_of_the_server() -> None:
    """Address, port and host name have placeholders, also where they stand together."""
    lease = made(
        "Lease",
        "apiserver-abcdefghijklmnopqrstuvwxyz",
        "kube-system",
        metadata={
            "labels": {"kubernetes.io/hostname": "myhost"},
            "annotations": {"peer": "192.0.2.7:6443"},
        },
        spec={
            "holderIdentity": (
                "apiserver-abcdefghijklmnopqrstuvwxyz_0fae0b1d-66ea-41c5-a2ab-7f05bb1c6e4a"
            ),
            "leaseDurationSeconds": 3600,
            "renewTime": "2026-01-02T03:04:05.000006Z",
        },
    )
    found = objects([lease, ENDPOINTS])
    assert found["Endpoints default/kubernetes"]["subsets"] == [
        {
            "addresses": [{"ip": "<advertise-address>"}],
            "ports": [{"name": "https", "port": "<secure-port>"}],
        }
    ]
    assert found["Lease kube-system/apiserver-<hash>"] == {
        "apiVersion": "v1",
        "kind": "Lease",
        "metadata": {
            "name": "apiserver-<hash>",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/hostname": "<hostname>"},
            "annotations": {"peer": "<advertise-address>:<secure-port>"},
        },
        "spec": {
            "holderIdentity": "apiserver-<hash>_<uuid>",
            "leaseDurationSeconds": 3600,
            "renewTime": "<now>",
        },
    }


def test_conditions_keep_what_is_always_so() -> None:
    """Neither times nor messages; and no prose of priority classes."""
    condition = {"type": "Ready", "status": "True", "message": "m", "lastTransitionTime": "t"}
    found = objects(
        [
            made("ServiceCIDR", "a", status={"conditions": [condition]}),
            made("PriorityClass", "b", description="Words.", value=1),
        ]
    )
    assert found["ServiceCIDR a"]["status"] == {"conditions": [{"type": "Ready", "status": "True"}]}
    assert "description" not in found["PriorityClass b"]


def test_mandatory_flow_control() -> None:
    """Only two of each kind are put back."""
    found = objects([made("FlowSchema", "exempt"), made("FlowSchema", "probes")])
    assert [obj["mandatory"] for obj in found.values()] == [True, False]


def role(name: str, rules: list[str] | None, label: str = "", takes: str = "") -> dict[str, Any]:
    obj = made("ClusterRole", name, metadata={"labels": {label: "true"}}, rules=rules)
    if takes:
        obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {takes: "true"}}]}
    return obj


def test_rules_of_aggregated_roles() -> None:
    """Through roles that are aggregated themselves, each rule once, roles in order of names."""
    found = objects(
        [
            role("admin", None, takes="to-admin"),
            role("edit", None, "to-admin", "to-edit"),
            role("system:aggregate-to-admin", ["c", "b"], "to-admin"),
            role("system:aggregate-to-edit", ["b"], "to-edit"),
            role("other", ["x"], "to-nobody"),
        ]
    )
    assert aggregated(found) == {"admin": ["b", "c"], "edit": ["b"]}
