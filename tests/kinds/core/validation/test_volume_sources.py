"""Checks of the sources of volumes."""

from __future__ import annotations

import pytest
from checks.helpers import Json, pod, refused, resource

PODS = resource("pods")
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
