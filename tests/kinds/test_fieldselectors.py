"""Fields objects are selected by."""

from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery import fields
from kubetrio.machinery.status import ApiError
from kubetrio.schema import builtin
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors

REFERENCE = {
    "kind": "Pod",
    "namespace": "n",
    "name": "p",
    "uid": "u",
    "apiVersion": "v1",
    "resourceVersion": "7",
    "fieldPath": "spec",
}


def selectors(key: str) -> FieldSelectors:
    """Selectors of a resource by its ``group/version/plural``."""
    group, version, plural = key.split("/")
    return registry().resources[group, version, plural].selectors


def test_every_supported_field_of_a_builtin_resource_has_a_value() -> None:
    """The table of supported fields and the table of getters name the same fields."""
    for key, supported in builtin.load("field-selectors").items():
        if key.startswith("ref.example/"):
            continue
        known = {"metadata.name", "metadata.namespace", *selectors(key).getters}
        assert set(supported) <= known, key
        for field in known:
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
    assert selectors(key).values(obj)[field] == value


def test_custom_resources_are_read_at_their_paths() -> None:
    """Scalars of any type are texts; what is not a scalar is empty."""
    obj = {"spec": {"color": "red", "size": 3, "on": False, "deep": {"a": 1}, "list": []}}
    paths = ("spec.color", "spec.size", "spec.on", "spec.deep", "spec.list", "spec.none.x")
    read = FieldSelectors(supported=paths).values(obj)
    assert [read[path] for path in paths] == ["red", "3", "false", "", "", ""]


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (
            "/v1/configmaps",
            "data.a=b",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("/v1/pods", "spec.foo=1", "field label not supported: spec.foo"),
        ("/v1/pods", "=a", "field label not supported: "),
        ("batch/v1/jobs", "metadata.uid=1", 'field label "metadata.uid" not supported for Job'),
        (
            "resource.k8s.io/v1/resourceslices",
            "metadata.namespace=x",
            (
                "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: "
                "metadata.namespace"
            ),
        ),
    ],
)
def test_unsupported_fields(key: str, text: str, message: str) -> None:
    """A kind refuses unknown fields with 400 in its own words."""
    group, version, plural = key.split("/")
    kind = registry().resources[group, version, plural]
    with pytest.raises(ApiError) as error:
        kind.selectors.check(fields.parse(text), group, version, kind.kind)
    assert (error.value.code, error.value.reason) == (400, "BadRequest")
    assert error.value.message == message


def test_custom_kinds_refuse_in_short() -> None:
    """In the words of kinds with fields of their own."""
    with pytest.raises(ApiError) as error:
        FieldSelectors(refusal=SHORT).check(fields.parse("metadata.uid=1"), "a.b", "v1", "C")
    assert error.value.message == "field label not supported: metadata.uid"


def test_supported_fields_pass() -> None:
    """Nothing is raised for fields the kind has."""
    FieldSelectors().check(fields.parse("metadata.name=a"), "", "v1", "ConfigMap")
