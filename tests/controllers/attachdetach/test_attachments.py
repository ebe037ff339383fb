"""What is kept of attachments and nodes, and what is written to nodes."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.attachdetach.attachments import (
    Attachment,
    NodeVolumes,
    attachment_view,
    node_view,
    with_attached,
    with_in_use,
    without_attached,
)

NODE: dict[str, Any] = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}


def test_an_attachment() -> None:
    """Its error counts when there is one, whatever it says."""
    source = {"persistentVolumeName": "v"}
    stored: dict[str, Any] = {
        "metadata": {"name": "a"},
        "spec": {"nodeName": "n", "attacher": "d", "source": source},
        "status": {"attached": False, "attachError": {}},
    }
    found = attachment_view(orjson.dumps(stored))
    text = "it cannot be attached"
    assert found == Attachment("n", "d", "v", attached=False, error=text, deleting=False)


def test_a_node() -> None:
    """What it says of volumes, and whether it is well."""
    stored: dict[str, Any] = {
        "metadata": {
            "name": "n",
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "volumesAttached": [{"name": "v", "devicePath": ""}],
            "volumesInUse": ["w"],
        },
    }
    found = node_view(orjson.dumps(stored))
    assert found == NodeVolumes(
        managed=True, ready=True, out_of_service=True, attached=("v",), in_use=("w",)
    )


def test_a_node_is_told_of_volumes_once() -> None:
    """What changes nothing gives the same node, and an empty list goes."""
    told = with_attached(NODE, "v")
    assert told["status"]["volumesAttached"] == [{"name": "v", "devicePath": ""}]
    assert with_attached(told, "v") is told
    assert without_attached(told, "v") == NODE
    assert without_attached(NODE, "v") is NODE
    used = with_in_use(NODE, ["a", "b"])
    assert used["status"]["volumesInUse"] == ["a", "b"]
    assert with_in_use(used, ["a", "b"]) is used
    assert with_in_use(used, []) == NODE
