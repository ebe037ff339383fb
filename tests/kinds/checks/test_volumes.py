"""Volumes of pods and PersistentVolumes."""

from __future__ import annotations

import pytest

from .helpers import Json, pod, refused, resource

PODS = resource("pods")
VOLUMES = resource("persistentvolumes")
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"hostPath": {"path": "/a/../b"}},
            ["volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
        ),
        (
            {"hostPath": {"path": "/a", "type": "Pipe"}},
            [
                (
                    'volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", '
                    '"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", '
                    '"FileOrCreate", "Socket"'
                )
            ],
        ),
        ({"secret": {}}, ["volumes[0].secret.secretName: Required value"]),
        (
            {"configMap": {"name": "a", "defaultMode": 512}},
            [
                (
                    "volumes[0].configMap.defaultMode: Invalid value: 512: must be a number "
                    "between "
                    "0 and "
                    "0777 (octal), both inclusive"
                )
            ],
        ),
        (
            {"nfs": {"server": "s"}},
            [
                'volumes[0].nfs.path: Invalid value: "": must be an absolute path',
                "volumes[0].nfs.path: Required value",
            ],
        ),
        ({"gcePersistentDisk": {}}, ["volumes[0].persistentDisk.pdName: Required value"]),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "x", "lun": 256}},
            [
                (
                    'volumes[0].iscsi.iqn: Invalid value: "x": must be valid format starting '
                    "with iqn, "
                    "eui, or naa"
                ),
                "volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
            ],
        ),
        (
            {"fc": {}},
            [
                (
                    "volumes[0].fc.targetWWNs: Required value: must specify either targetWWNs or "
                    "wwids, "
                    "but not both"
                )
            ],
        ),
        (
            {"flexVolume": {"driver": "d", "options": {"k8s.io/x": "y"}}},
            [
                (
                    'volumes[0].flexVolume.options[k8s.io/x]: Invalid value: "k8s.io/x": '
                    "kubernetes.io and "
                    "k8s.io namespaces are reserved"
                )
            ],
        ),
        (
            {"downwardAPI": {"items": [{"path": "a"}]}},
            [
                (
                    "volumes[0].downwardAPI: Required value: one of fieldRef and "
                    "resourceFieldRef is "
                    "required"
                )
            ],
        ),
        (
            {"projected": {"sources": [{"secret": {"name": "a"}, "configMap": {"name": "b"}}]}},
            [
                (
                    "volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 "
                    "volume "
                    "type "
                    "per source"
                )
            ],
        ),
        (
            {
                "projected": {
                    "sources": [
                        {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
                        {"configMap": {"name": "b", "items": [{"key": "k", "path": "p"}]}},
                    ]
                }
            },
            ['volumes[0].projected: Invalid value: "b": conflicting duplicate paths'],
        ),
        (
            {"csi": {}},
            [
                "volumes[0].csi.driver: Required value",
            ],
        ),
        ({"ephemeral": {}}, ["volumes[0].ephemeral.volumeClaimTemplate: Required value"]),
        ({"ephemeral": {"volumeClaimTemplate": CLAIM}}, []),
        ({"image": {}}, ["volumes[0].image.reference: Required value"]),
        (
            {"azureDisk": {"diskName": "a", "diskURI": "b", "kind": "Managed"}},
            [
                (
                    'volumes[0].azureDisk.diskURI: Unsupported value: "b": supported values: '
                    '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/'
                    'disks/{disk-id}"'
                )
            ],
        ),
        (
            {"quobyte": {"registry": "a", "volume": "v"}},
            [
                (
                    'volumes[0].quobyte.registry: Invalid value: "a": must be a host:port pair or '
                    "multiple "
                    "pairs separated by commas"
                )
            ],
        ),
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            [
                (
                    "volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid "
                    "resource "
                    "quantity"
                )
            ],
        ),
    ],
)
def test_source(source: Json, expected: list[str]) -> None:
    """Every source has its own rules, and its own paths."""
    body = pod(volumes=[{"name": "v", **source}])
    assert refused(PODS, body) == sorted(f"spec.{text}" for text in expected)


def test_claim_of_ephemeral_volume_is_not_used_twice() -> None:
    """A volume may not use the claim that another one creates."""
    body = pod(
        volumes=[
            {"name": "a", "ephemeral": {"volumeClaimTemplate": CLAIM}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "x-a"}},
        ]
    )
    assert refused(PODS, body) == [
        (
            'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-a": must not '
            "reference a PVC that gets created for an ephemeral volume"
        )
    ]


def _volume(**spec: object) -> Json:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": {"name": "x"}, "spec": {**base, **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            [
                (
                    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a "
                    "hostPath "
                    "mount of '/'"
                )
            ],
        ),
        ({"csi": {"driver": "d.io"}}, ["spec.csi.volumeHandle: Required value"]),
        (
            {"csi": {"driver": "d.io", "volumeHandle": "h", "nodePublishSecretRef": {"name": "a"}}},
            ["spec.csi.nodePublishSecretRef.namespace: Required value"],
        ),
        (
            {"hostPath": {"path": "/a"}, "volumeMode": "Tape"},
            ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
        ),
        (
            {"hostPath": {"path": "/a"}, "volumeAttributesClassName": "gold"},
            ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
        ),
        (
            {"hostPath": {"path": "/a"}, "nodeAffinity": {}},
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
    ],
)
def test_persistent_volume(spec: Json, expected: list[str]) -> None:
    """PersistentVolumes share sources with pods and add rules."""
    assert refused(VOLUMES, _volume(**spec)) == sorted(expected)
