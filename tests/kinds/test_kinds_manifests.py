"""Objects as manifests: what goes, what stays, what is left out; the order of an import."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.datadir.objects import Kinds
from kubetrio.kinds.manifests import is_made_by_server, is_owned, manifest, rank

Object = dict[str, Any]
KINDS = Kinds(())
ADDED: Object = {
    "uid": "u",
    "resourceVersion": "7",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{}],
}


def meta(name: str, namespace: str = "n", **more: Any) -> Object:
    return {"name": name, "namespace": namespace, **more}


def test_what_servers_add_goes_and_the_object_stays_as_it_was() -> None:
    """Identity, versions, owners of fields, what is observed."""
    obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta("a", labels={"x": "y"}, finalizers=["example.com/mine"], **ADDED),
        "spec": {"replicas": 2},
        "status": {"replicas": 1},
    }
    made = manifest(KINDS.named("deploy"), obj)
    assert made == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta("a", labels={"x": "y"}, finalizers=["example.com/mine"]),
        "spec": {"replicas": 2},
    }
    assert obj["metadata"]["uid"] == "u"


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}, {}),
        ("service", {"clusterIP": "None", "clusterIPs": ["None"]}, None),
        ("pv", {"claimRef": {"name": "c", "uid": "u"}}, {"claimRef": {"name": "c"}}),
        ("job", {"selector": {"matchLabels": {"controller-uid": "u"}}}, {}),
        ("job", {"manualSelector": True, "selector": {}}, None),
    ],
)
def test_what_is_given_to_an_object_goes(kind: str, spec: Object, expected: Object | None) -> None:
    """Addresses and uids are the other server's; what a person chose stays."""
    made = manifest(KINDS.named(kind), {"metadata": meta("a"), "spec": spec})
    assert made["spec"] == (spec if expected is None else expected)


@pytest.mark.parametrize(
    ("kind", "metadata", "expected"),
    [
        ("namespace", {"name": "kube-system"}, True),
        ("namespace", {"name": "shop"}, False),
        ("configmap", meta("kube-root-ca.crt"), True),
        ("configmap", meta("settings"), False),
        ("serviceaccount", meta("default"), True),
        ("service", meta("kubernetes", "default"), True),
        ("clusterrole", {"name": "x", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
         True),
        ("clusterrole", {"name": "x", "labels": {"kubernetes.io/bootstrapping": "mine"}}, False),
        ("endpointslice", meta("x", labels={"endpointslice.kubernetes.io/managed-by": "y"}), True),
        ("lease", meta("x"), True),
        ("flowschema", {"name": "x", "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}},
         True),
    ],
)  # fmt: skip
def test_what_every_server_makes(kind: str, metadata: Object, expected: bool) -> None:
    """It is not exported unless all is asked for."""
    assert is_made_by_server(KINDS.named(kind), {"metadata": metadata}) is expected


def test_tokens_of_accounts_are_the_servers() -> None:
    """Another server signs its own."""
    secret = {"metadata": meta("t"), "type": "kubernetes.io/service-account-token"}
    assert is_made_by_server(KINDS.named("secret"), secret)
    assert not is_made_by_server(KINDS.named("secret"), {**secret, "type": "Opaque"})


def test_what_a_controller_owns() -> None:
    """It makes that again; an owner that is no controller does not."""
    owner = {"kind": "ReplicaSet", "name": "r", "uid": "u"}
    assert is_owned({"metadata": meta("p", ownerReferences=[{**owner, "controller": True}])})
    assert not is_owned({"metadata": meta("p", ownerReferences=[owner])})


def test_the_order_of_an_import() -> None:
    """Definitions, namespaces, what others name, roles, the rest, what refuses others."""
    kinds = [
        ("v1", "Pod"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("v1", "ServiceAccount"),
        ("v1", "Namespace"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ]
    ordered = sorted(kinds, key=lambda of: rank({"apiVersion": of[0], "kind": of[1]}))
    assert [kind for _, kind in ordered] == [
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "RoleBinding",
        "Pod",
        "ValidatingWebhookConfiguration",
    ]
