"""Fields objects are selected by."""

from typing import Any

import pytest

from kubetrio.machinery import fieldsets
from kubetrio.schema import builtin

REFERENCE = {
    "kind": "Pod",
    "namespace": "n",
    "name": "p",
    "uid": "u",
    "apiVersion": "v1",
    "resourceVersion": "7",
    "fieldPath": "spec",
}


def test_every_supported_field_of_a_builtin_resource_has_a_value() -> None:
    """The table of supported fields and the table of getters name the same fields."""
    for key, supported in builtin.load("field-selectors").items():
        if key.startswith("ref.example/"):
            continue
        assert set(supported) <= set(fieldsets.values({}, key)), key
        for field in fieldsets.values({}, key):
            assert field in supported or field.startswith("metadata."), (key, field)


@pytest.mark.parametrize(
    ("key", "obj", "field", "value"),
    [
        ("/v1/configmaps", {"metadata": {"name": "a"}}, "metadata.name", "a"),
        ("/v1/configmaps", {}, "metadata.namespace", ""),
        ("/v1/pods", {}, "spec.hostNetwork", "false"),
        ("/v1/pods", {"spec": {"hostNetwork": True}}, "spec.hostNetwork", "true"),
        ("/v1/pods", {"status": {"podIP": "1.2.3.4"}}, "status.podIP", "1.2.3.4"),
        (
            "/v1/pods",
            {"status": {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.5"}]}},
            "status.podIP",
            "1.2.3.5",
        ),
        ("/v1/pods", {"status": {"podIPs": [{"ip": "1.2.3.5"}]}}, "status.podIPs", ""),
        ("/v1/pods", {"status": None}, "status.phase", ""),
        ("/v1/nodes", {}, "spec.unschedulable", "false"),
        ("/v1/nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
        ("/v1/replicationcontrollers", {}, "status.replicas", "0"),
        ("/v1/replicationcontrollers", {"status": {"replicas": 3}}, "status.replicas", "3"),
        ("batch/v1/jobs", {"status": {"succeeded": 2}}, "status.successful", "2"),
        ("batch/v1/jobs", {}, "status.successful", "0"),
        ("/v1/secrets", {"type": "Opaque"}, "type", "Opaque"),
        ("/v1/services", {"spec": {"clusterIP": "None"}}, "spec.clusterIP", "None"),
        ("/v1/events", {"involvedObject": REFERENCE}, "involvedObject.fieldPath", "spec"),
        ("/v1/events", {"source": {"component": "c"}}, "source", "c"),
        ("/v1/events", {"source": {}, "reportingComponent": "r"}, "source", "r"),
        ("events.k8s.io/v1/events", {"involvedObject": REFERENCE}, "regarding.kind", "Pod"),
        ("events.k8s.io/v1/events", {"reportingComponent": "r"}, "reportingController", "r"),
    ],
)
def test_values(key: str, obj: dict[str, Any], field: str, value: str) -> None:
    """A field has the text kube-apiserver compares with."""
    assert fieldsets.values(obj, key)[field] == value
    assert fieldsets.getter(field, key)(obj) == value


def test_custom_resources_are_read_at_their_paths() -> None:
    """Scalars of any type are texts; what is not a scalar is empty."""
    obj = {"spec": {"color": "red", "size": 3, "on": False, "deep": {"a": 1}, "list": []}}
    paths = ("spec.color", "spec.size", "spec.on", "spec.deep", "spec.list", "spec.none.x")
    read = fieldsets.values(obj, "example.com/v1/things", paths)
    assert [read[path] for path in paths] == ["red", "3", "false", "", "", ""]
