"""Which fields can be owned through which path of which kind."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.ownership import all_fields
from kubetrio.testing.client import Client

CONTAINER = 'k:{"name":"c"}'
PATHS = {
    "labels": ("f:metadata", "f:labels", "f:a"),
    "annotations": ("f:metadata", "f:annotations", "f:a"),
    "deletion": ("f:metadata", "f:deletionTimestamp"),
    "owners": ("f:metadata", "f:ownerReferences", 'k:{"uid":"u"}'),
    "spec": ("f:spec", "f:replicas"),
    "status": ("f:status", "f:phase"),
    "conditions": ("f:status", "f:conditions", 'k:{"type":"t"}'),
    "certificate": ("f:status", "f:certificate"),
    "image": ("f:spec", "f:containers", CONTAINER, "f:image"),
    "resources": ("f:spec", "f:containers", CONTAINER, "f:resources", "f:limits"),
    "policy": ("f:spec", "f:initContainers", CONTAINER, "f:resizePolicy"),
    "ephemeral": ("f:spec", "f:ephemeralContainers", CONTAINER, "f:image"),
}
METADATA = {"labels", "annotations", "deletion", "owners"}
STATUS = {"status", "conditions", "certificate"}
SPEC = PATHS.keys() - METADATA - STATUS


@pytest.mark.parametrize(
    ("resource", "kept"),
    [
        ("v1/configmaps", PATHS.keys()),
        ("v1/services", METADATA | SPEC),
        ("v1/services/status", METADATA | STATUS),
        ("v1/namespaces/finalize", METADATA | SPEC),
        ("v1/pods", METADATA | SPEC),
        ("v1/pods/status", STATUS | {"labels", "annotations"}),
        ("v1/pods/ephemeralcontainers", PATHS.keys()),
        ("v1/pods/resize", PATHS.keys()),
        ("apps/v1/deployments/status", STATUS | METADATA - {"labels"}),
        ("apps/v1/replicasets/status", STATUS | METADATA),
        ("policy/v1/poddisruptionbudgets/status", STATUS | METADATA),
        ("apiregistration.k8s.io/v1/apiservices/status", STATUS),
        ("flowcontrol.apiserver.k8s.io/v1/flowschemas/status", STATUS),
        ("storage.k8s.io/v1/volumeattachments/status", STATUS),
        ("networking.k8s.io/v1/servicecidrs", PATHS.keys() - STATUS),
        ("networking.k8s.io/v1/servicecidrs/status", STATUS),
        ("certificates.k8s.io/v1/certificatesigningrequests", METADATA),
        (
            "certificates.k8s.io/v1/certificatesigningrequests/status",
            METADATA | STATUS - {"conditions"},
        ),
        (
            "certificates.k8s.io/v1/certificatesigningrequests/approval",
            METADATA | STATUS - {"certificate"},
        ),
    ],
)
def test_what_can_be_owned(resource: str, kept: set[str]) -> None:
    """What the kind does not put back."""
    parts = resource.split("/")
    group = "" if parts[0] == "v1" else parts.pop(0)
    _, name, subresource, *_ = [*parts, ""]
    found = registry().get(group, "v1", name)
    assert found is not None
    left = found.rules.keep.get(subresource, all_fields)(FieldSet.of(*PATHS.values()))
    assert {word for word, path in PATHS.items() if path in left} == kept


async def test_a_label_that_came_with_a_status(client: Client) -> None:
    """It is owned where it was written."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"metadata": {"name": "n"}, "spec": {"maxUnavailable": 1}}
    await client.request("POST", path, json=budget)
    body = orjson.dumps({"metadata": {"labels": {"a": "b"}}})
    media = {"Content-Type": "application/merge-patch+json"}
    answer = await client.request("PATCH", f"{path}/n/status", media, body)
    *_, entry = answer.json()["metadata"]["managedFields"]
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
