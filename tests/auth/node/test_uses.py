"""What a pod and a volume name."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.auth.node.uses import secrets_of_volume, uses_of_pod

Object = dict[str, Any]


WHOLE_POD: Object = {
    "metadata": {"namespace": "x", "name": "p"},
    "spec": {
        "nodeName": "n1",
        "serviceAccountName": "account",
        "imagePullSecrets": [{"name": "pull"}, {}],
        "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}, {"prefix": "a"}]}],
        "containers": [
            {
                "envFrom": [{"configMapRef": {"name": "from"}}],
                "env": [
                    {"name": "a", "value": "b"},
                    {"valueFrom": {"secretKeyRef": {"name": "key"}}},
                    {"valueFrom": {"configMapKeyRef": {"name": "cmkey"}}},
                    {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
            }
        ],
        "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "late"}}]}],
        "volumes": [
            {"name": "v1", "azureFile": {"secretName": "azure"}},
            {"name": "v2", "cephfs": {"secretRef": {"name": "ceph"}}},
            {"name": "v3", "cinder": {"secretRef": {"name": "cinder"}}},
            {"name": "v4", "flexVolume": {"secretRef": {"name": "flex"}}},
            {
                "name": "v5",
                "projected": {
                    "sources": [
                        {"secret": {"name": "projected"}},
                        {"configMap": {"name": "cmprojected"}},
                        {"serviceAccountToken": {"path": "t"}},
                    ]
                },
            },
            {"name": "v6", "rbd": {"secretRef": {"name": "rbd"}}},
            {"name": "v7", "secret": {"secretName": "secret"}},
            {"name": "v8", "scaleIO": {"secretRef": {"name": "scale"}}},
            {"name": "v9", "iscsi": {"secretRef": {"name": "iscsi"}}},
            {"name": "v10", "storageos": {"secretRef": {"name": "storage"}}},
            {"name": "v11", "csi": {"nodePublishSecretRef": {"name": "csi"}}},
            {"name": "v12", "configMap": {"name": "cm"}},
            {"name": "v13", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "v14", "ephemeral": {}},
            {"name": "v15", "emptyDir": {}},
            {"name": "v16", "iscsi": {"secretRef": None}},
        ],
        "resourceClaims": [
            {"name": "r1", "resourceClaimName": "direct"},
            {"name": "r2", "resourceClaimTemplateName": "t"},
            {"name": "r3", "resourceClaimTemplateName": "t"},
        ],
    },
    "status": {
        "resourceClaimStatuses": [{"name": "r2", "resourceClaimName": "made"}, {"name": "r3"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "extended"},
    },
}


def test_everything_that_a_pod_names() -> None:
    """Each source of each kind."""
    found: dict[str, set[str]] = {}
    for kind, namespace, name in uses_of_pod(WHOLE_POD):
        assert namespace == "x"
        found.setdefault(kind, set()).add(name)
    assert found == {
        "serviceAccount": {"account"},
        "secret": {
            "pull", "init", "key", "late", "azure", "ceph", "cinder", "flex", "projected", "rbd",
            "secret", "scale", "iscsi", "storage", "csi",
        },
        "configmap": {"from", "cmkey", "cmprojected", "cm"},
        "pvc": {"claim", "p-v14"},
        "resourceclaim": {"direct", "made", "extended"},
    }  # fmt: skip


def test_a_mirror_pod_names_nothing() -> None:
    """A kubelet makes it, and would give itself rights."""
    meta = {**WHOLE_POD["metadata"], "annotations": {"kubernetes.io/config.mirror": ""}}
    assert not list(uses_of_pod({**WHOLE_POD, "metadata": meta}))


@pytest.mark.parametrize(
    ("source", "secrets"),
    [
        ({"azureFile": {"secretName": "s"}}, {("c", "s")}),
        ({"azureFile": {"secretName": "s", "secretNamespace": "o"}}, {("o", "s")}),
        ({"cephfs": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"cephfs": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        ({"cinder": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        ({"flexVolume": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"rbd": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"scaleIO": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"iscsi": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"storageos": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        (
            {
                "csi": {
                    "controllerPublishSecretRef": {"name": "hidden", "namespace": "o"},
                    "controllerExpandSecretRef": {"name": "hidden", "namespace": "o"},
                    "nodePublishSecretRef": {"name": "a", "namespace": "o"},
                    "nodeStageSecretRef": {"name": "b", "namespace": "o"},
                    "nodeExpandSecretRef": {"name": "c", "namespace": "o"},
                }
            },
            {("o", "a"), ("o", "b"), ("o", "c")},
        ),
        ({"hostPath": {"path": "/"}}, set()),
    ],
)
def test_secrets_of_a_volume(source: Object, secrets: set[tuple[str, str]]) -> None:
    """In the namespace that is named, else in that of the claim; none of controllers."""
    spec = {"claimRef": {"namespace": "c", "name": "claim"}, **source}
    assert {use[1:] for use in secrets_of_volume({"spec": spec})} == secrets
