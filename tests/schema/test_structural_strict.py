"""What does not fit: Go's messages, in Go's order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.schema.structural import Report, compile_type
from kubetrio.testing.effort import calls
from kubetrio.wire.gojson import GoJsonError, parse

CORE = "io.k8s.api.core.v1."
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."


def decode(type_name: str, text: str) -> tuple[dict[str, Any], Report]:
    report, parsed = Report(), parse(text.encode())
    return compile_type(type_name).decode(parsed.value, report, parsed.repeated), report


def error(type_name: str, text: str) -> str:
    with pytest.raises(GoJsonError) as caught:
        decode(type_name, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text", "word", "place", "go_type"),
    [
        ("ConfigMap", '{"metadata":"x"}', "string", "ConfigMap.metadata", "v1.ObjectMeta"),
        (
            "ConfigMap",
            '{"metadata":{"labels":["a"]}}',
            "array",
            "ObjectMeta.metadata.labels",
            "map[string]string",
        ),
        (
            "ConfigMap",
            '{"metadata":{"labels":{"a":1}}}',
            "number",
            "ObjectMeta.metadata.labels",
            "string",
        ),
        ("ConfigMap", '{"metadata":{"name":true}}', "bool", "ObjectMeta.metadata.name", "string"),
        ("ConfigMap", '{"metadata":{"uid":1}}', "number", "ObjectMeta.metadata.uid", "types.UID"),
        (
            "ConfigMap",
            '{"metadata":{"deletionTimestamp":5}}',
            "number",
            "ObjectMeta.metadata.deletionTimestamp",
            "string",
        ),
        (
            "ServiceAccount",
            '{"secrets":{"name":"x"}}',
            "object",
            "ServiceAccount.secrets",
            "[]v1.ObjectReference",
        ),
        (
            "Pod",
            '{"spec":{"containers":[{"env":[{"value":1}]}]}}',
            "number",
            "EnvVar.spec.containers.env.value",
            "string",
        ),
        (
            "Pod",
            '{"spec":{"containers":[{"imagePullPolicy":1}]}}',
            "number",
            "Container.spec.containers.imagePullPolicy",
            "v1.PullPolicy",
        ),
        (
            "Pod",
            '{"spec":{"priority":2147483648}}',
            "number 2147483648",
            "PodSpec.spec.priority",
            "int32",
        ),
        (
            "Pod",
            '{"spec":{"activeDeadlineSeconds":9223372036854775808}}',
            "number 9223372036854775808",
            "PodSpec.spec.activeDeadlineSeconds",
            "int64",
        ),
        ("Pod", '{"spec":{"priority":1.0}}', "number 1.0", "PodSpec.spec.priority", "int32"),
        (
            "Service",
            '{"spec":{"ports":[{"targetPort":1.5}]}}',
            "number 1.5",
            "ServicePort.spec.ports.targetPort",
            "int32",
        ),
        ("Pod", '{"spec":{"overhead":[]}}', "array", "PodSpec.spec.overhead", "v1.ResourceList"),
        ("Secret", '{"data":{"a":{}}}', "object", "Secret.data", "[]uint8"),
        ("Secret", '{"data":{"a":[0,"b"]}}', "string", "Secret.data", "uint8"),
        ("Secret", '{"data":{"a":[256]}}', "number 256", "Secret.data", "uint8"),
        (
            "PersistentVolume",
            '{"spec":{"hostPath":{"path":1}}}',
            "number",
            "HostPathVolumeSource.spec.PersistentVolumeSource.hostPath.path",
            "string",
        ),
        (
            "Pod",
            '{"spec":{"containers":[{"livenessProbe":{"exec":{"command":1}}}]}}',
            "number",
            "ExecAction.spec.containers.livenessProbe.ProbeHandler.exec.command",
            "[]string",
        ),
        (
            "PersistentVolumeClaim",
            '{"status":{"allocatedResourceStatuses":{"a":1}}}',
            "number",
            "PersistentVolumeClaimStatus.status.allocatedResourceStatuses",
            "v1.ClaimResourceStatus",
        ),
    ],
)
def test_wrong_types(kind: str, text: str, word: str, place: str, go_type: str) -> None:
    """The innermost struct, the whole path without indexes and keys, and the Go type."""
    assert error(f"{CORE}{kind}", text) == (
        f"json: cannot unmarshal {word} into Go struct field {place} of type {go_type}"
    )


@pytest.mark.parametrize(
    ("type_name", "text", "word", "place", "go_type"),
    [
        (
            "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
            '{"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":1}]}}}',
            "number",
            (
                "NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule"
                ".apiGroups"
            ),
            "[]string",
        ),
        (
            "io.k8s.api.flowcontrol.v1.FlowSchema",
            '{"spec":{"rules":[{"subjects":[{"kind":1}]}]}}',
            "number",
            "Subject.spec.rules.subjects.kind",
            "v1.SubjectKind",
        ),
        (
            "io.k8s.api.rbac.v1.RoleBinding",
            '{"subjects":[{"kind":1}]}',
            "number",
            "Subject.subjects.kind",
            "string",
        ),
        (
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
            '{"spec":{"metrics":[{"type":1}]}}',
            "number",
            "MetricSpec.spec.metrics.type",
            "v2.MetricSourceType",
        ),
        (
            "io.k8s.api.resource.v1.ResourceSlice",
            '{"spec":{"devices":[{"attributes":1}]}}',
            "number",
            "Device.spec.devices.attributes",
            "map[v1.QualifiedName]v1.DeviceAttribute",
        ),
        (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
            '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"x-kubernetes-validations":1}}}]}}',
            "number",
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.x-kubernetes-validations",
            "v1.ValidationRules",
        ),
    ],
)
def test_names_of_types_and_of_embedded_structs(
    type_name: str, text: str, word: str, place: str, go_type: str
) -> None:
    """In every group; what is embedded is named before its member."""
    assert error(type_name, text) == (
        f"json: cannot unmarshal {word} into Go struct field {place} of type {go_type}"
    )


def test_a_value_that_is_no_object() -> None:
    """Without a field there is no field in the message."""
    assert error(f"{CORE}Pod", "[]") == (
        "json: cannot unmarshal array into Go value of type v1.Pod"
    )


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            "ConfigMap",
            '{"metadata":{"deletionTimestamp":"yesterday"}}',
            (
                'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": '
                'cannot parse "yesterday" as "2006"'
            ),
        ),
        ("Secret", '{"data":{"k":"not base64!"}}', "illegal base64 data at input byte 3"),
        (
            "LimitRange",
            '{"spec":{"limits":[{"max":{"cpu":"abc"}}]}}',
            (
                "quantities must match the regular expression "
                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            ),
        ),
    ],
)
def test_errors_of_special_types_stand_alone(kind: str, text: str, message: str) -> None:
    """Times, quantities and base64 are refused without a path."""
    assert error(f"{CORE}{kind}", text) == message


def test_the_first_wrong_type_wins() -> None:
    """Decoding goes on after a wrong type, but the first one is told."""
    text = '{"data":{"a":1},"metadata":{"name":2}}'
    assert "ConfigMap.data " in error(f"{CORE}ConfigMap", text)


def test_special_types_win_over_wrong_types() -> None:
    """A bad time ends decoding, and a wrong type before it is forgotten."""
    text = '{"data":{"a":1},"metadata":{"deletionTimestamp":"x"}}'
    assert error(f"{CORE}ConfigMap", text).startswith("parsing time")


def test_unknown_fields_have_paths_and_order() -> None:
    """Lists have indexes, maps have keys, and the order is that of the text."""
    out, report = decode(
        DEPLOYMENT,
        '{"spec":{"template":{"spec":{"containers":[{},{"imagge":1}]}},"foo":1},"Kind":1}',
    )
    assert report.strict == [
        'unknown field "spec.template.spec.containers[1].imagge"',
        'unknown field "spec.foo"',
        'unknown field "Kind"',
    ]
    assert report.unknown == report.strict
    assert not report.duplicates
    assert "foo" not in out["spec"]
    assert report.error.startswith('strict decoding error: unknown field "spec.template')


def test_messages_are_told_once_and_at_most_a_hundred() -> None:
    """Repetition and floods are cut off."""
    members = ",".join(f'"x{index}":1,"x{index}":2' for index in range(200))
    _, report = decode(f"{CORE}ConfigMap", f"{{{members}}}")
    assert len(report.strict) == len(set(report.strict)) == 100


def test_repeated_structs_and_maps_merge() -> None:
    """Go decodes a second member on top of the first; lists start again."""
    out, report = decode(
        f"{CORE}Pod",
        '{"metadata":{"name":"a","labels":{"a":"1"}},'
        '"metadata":{"labels":{"b":"2"},"finalizers":["x"],"finalizers":["y"]}}',
    )
    assert out["metadata"] == {"name": "a", "labels": {"a": "1", "b": "2"}, "finalizers": ["y"]}
    assert report.strict == [
        'duplicate field "metadata"',
        'duplicate field "metadata.finalizers"',
    ]
    assert report.duplicates == report.strict


def test_a_repeated_member_that_is_null() -> None:
    """Null clears what has a null of its own and leaves other values alone."""
    out, _ = decode(
        f"{CORE}ConfigMap",
        '{"data":{"a":"1"},"data":null,"metadata":{"name":"x","name":null}}',
    )
    assert out == {"metadata": {"name": "x"}}


def test_schemas_inside_wrappers_are_not_strict() -> None:
    """Below ``items`` unknown fields are dropped silently, and errors name both places."""
    out, report = decode(f"{EXTENSIONS}JSONSchemaProps", '{"items":{"zork":1,"type":"x"}}')
    assert (out, report.strict) == ({"items": {"type": "x"}}, [])
    assert error(f"{EXTENSIONS}JSONSchemaProps", '{"items":{"type":1}}') == (
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.items.type of type "
        "string"
    )
    assert error(f"{EXTENSIONS}JSONSchemaProps", '{"additionalProperties":1}') == (
        "boolean or JSON schema expected"
    )


def test_embedded_values_are_not_looked_into() -> None:
    """Nothing inside a RawExtension is unknown or repeated."""
    _, report = decode("io.k8s.api.apps.v1.ControllerRevision", '{"data":{"a":1,"a":{"b":2}}}')
    assert not report


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "spec",
                    "status",
                    "containers",
                    "labels",
                    "env",
                    "ports",
                    "resources",
                    "limits",
                    "name",
                    "template",
                    "replicas",
                    "selector",
                    "items",
                    "zork",
                    "creationTimestamp",
                    "managedFields",
                    "fieldsV1",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(json_values, st.sampled_from([f"{CORE}Pod", DEPLOYMENT, f"{CORE}PodList"]))
def test_any_json_is_decoded_or_refused(value: object, type_name: str) -> None:
    """Nothing but GoJsonError escapes, and what is accepted is accepted again unchanged."""
    try:
        out, _ = decode(type_name, json.dumps(value))
    except GoJsonError:
        return
    report = Report()
    assert compile_type(type_name).decode(out, report) == out
    assert not report


def test_bytes_may_be_written_as_a_list() -> None:
    """Of their values, null for zero."""
    found, _ = decode(f"{CORE}Secret", '{"data":{"a":[1,2],"b":[null],"c":[]}}')
    assert found["data"] == {"a": "AQI=", "b": "AA==", "c": ""}


def test_a_mistake_is_spelled_once() -> None:
    """Below a long key, a mistake that repeats costs no more than itself."""
    schemas = ",".join(['"b":{"x":1,"x":2}'] * 500)
    text = f'{{"properties":{{"{"k" * 10_000}":{{"properties":{{{schemas}}}}}}}}}'
    report, parsed = Report(), parse(text.encode())
    decoder = compile_type(f"{EXTENSIONS}JSONSchemaProps")
    made = calls(lambda: decoder.decode(parsed.value, report, parsed.repeated))
    assert made["join"] < 10
    assert len(report.strict) == 2


def test_messages_are_bounded_in_length() -> None:
    """A hundred paths of a long key are not all told."""
    unknown = ",".join(f'"x{number}":1' for number in range(100))
    text = f'{{"properties":{{"{"k" * 300_000}":{{{unknown}}}}}}}'
    _, report = decode(f"{EXTENSIONS}JSONSchemaProps", text)
    assert len(report.strict) == 4
