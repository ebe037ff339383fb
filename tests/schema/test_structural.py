"""Decoders of built-in types: Go's round trip, exact and repeatable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.schema import builtin
from kubetrio.schema.structural import Report, compile_type
from kubetrio.schema.structural_shapes import Shape, ShapeKind, struct
from kubetrio.wire.gojson import Float, GoJsonError
from kubetrio.wire.jsonwire import encode

CORE = "io.k8s.api.core.v1."
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


def decode(type_name: str, raw: Any) -> dict[str, Any]:
    report = Report()
    out = compile_type(type_name).decode(raw, report)
    assert not report
    return out


def test_keys_are_in_the_order_of_the_go_struct() -> None:
    """Whatever the order of the text, members print as Go prints them and map keys are sorted."""
    raw = {
        "data": {"b": "2", "a": "1"},
        "metadata": {"labels": {"z": "", "a": ""}, "name": "x"},
        "apiVersion": "v1",
        "kind": "ConfigMap",
    }
    assert encode(decode(f"{CORE}ConfigMap", raw)) == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","labels":{"a":"","z":""}},'
        b'"data":{"a":"1","b":"2"}}'
    )


def test_the_request_is_not_changed() -> None:
    """Decoding makes a new object."""
    raw = {"metadata": {"labels": {"b": "1", "a": None}}, "data": {}}
    decode(f"{CORE}ConfigMap", raw)
    assert raw == {"metadata": {"labels": {"b": "1", "a": None}}, "data": {}}


def test_empty_members_are_left_out_and_zero_structs_stay() -> None:
    """Members with omitempty go when empty; structs and members without it are always printed."""
    raw = {
        "metadata": {"name": "", "creationTimestamp": None, "labels": {}, "finalizers": []},
        "spec": {"containers": [{"name": "c", "image": "", "command": None, "tty": False}]},
    }
    assert decode(f"{CORE}Pod", raw) == {
        "metadata": {},
        "spec": {"containers": [{"name": "c", "resources": {}}]},
        "status": {},
    }


def test_pointers_keep_a_zero() -> None:
    """A number behind a pointer is kept when it is 0."""
    assert decode("io.k8s.api.apps.v1.Deployment", {"spec": {"replicas": 0}})["spec"] == {
        "replicas": 0,
        "selector": None,
        "template": {"metadata": {}, "spec": {"containers": None}},
        "strategy": {},
    }


def test_lists_without_omitempty_tell_null_from_empty() -> None:
    """Absent and null print as null, an empty list as an empty list."""
    role = "io.k8s.api.rbac.v1.Role"
    assert decode(role, {})["rules"] is None
    assert decode(role, {"rules": None})["rules"] is None
    assert decode(role, {"rules": []})["rules"] == []


def test_zero_values_of_other_types() -> None:
    """Times print as null, quantities as "0", texts as empty texts."""
    event = decode(f"{CORE}Event", {})
    assert (event["firstTimestamp"], event["eventTime"]) == (None, None)
    assert event["reportingComponent"] == ""
    selector = decode(f"{CORE}ResourceFieldSelector", {"resource": "limits.cpu"})
    assert selector == {"resource": "limits.cpu", "divisor": "0"}


def test_null_elements_become_zero() -> None:
    """Null in a list or map is the zero value of the element."""
    assert decode(f"{CORE}ConfigMap", {"data": {"a": None, "b": "x"}})["data"] == {
        "a": "",
        "b": "x",
    }
    assert decode(f"{CORE}Capabilities", {"add": ["X", None]}) == {"add": ["X", ""]}
    assert decode(f"{CORE}PodSpec", {"containers": [None]}) == {
        "containers": [{"name": "", "resources": {}}]
    }


def test_texts_become_canonical() -> None:
    """Times are in UTC, quantities and base64 canonical."""
    meta = decode(
        f"{CORE}Secret",
        {
            "metadata": {"deletionTimestamp": "2024-01-02T03:04:05.5+01:00"},
            "data": {"a": "QU\nJD", "b": "QR==", "c": ""},
        },
    )
    assert meta["metadata"]["deletionTimestamp"] == "2024-01-02T02:04:05Z"
    assert meta["data"] == {"a": "QUJD", "b": "QQ==", "c": ""}
    limits = {"cpu": Float("0.5"), "memory": 1024, "x": " 1000m "}
    assert decode(f"{CORE}ResourceRequirements", {"limits": limits}) == {
        "limits": {"cpu": "500m", "memory": "1024", "x": "1"}
    }


def test_doubles_print_as_in_go() -> None:
    """A schema limit of 1.0 is 1."""
    props = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    out = decode(props, {"maximum": Float("1.0"), "minimum": Float("0.50"), "multipleOf": 2**60})
    assert encode(out) == b'{"maximum":1,"minimum":0.5,"multipleOf":1152921504606847000}'


def test_embedded_values_are_taken_as_they_are() -> None:
    """RawExtension keeps members that no schema knows."""
    raw = {"z": [1, {"b": None}], "a": ""}
    revision = decode("io.k8s.api.apps.v1.ControllerRevision", {"data": raw})
    assert encode(revision["data"]) == b'{"z":[1,{"b":null}],"a":""}'


def test_schemas_or_something_else() -> None:
    """The wrapper types of CustomResourceDefinitions take both of their forms."""
    schema = {
        "additionalProperties": False,
        "items": {"type": "string"},
        "properties": {"x": {"items": [{"type": "integer"}], "additionalProperties": {}}},
        "dependencies": {"a": ["b"], "c": {"type": "object"}},
    }
    props = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert decode(props, schema) == schema


def test_unknown_types_are_told_at_once() -> None:
    """Compiling a type that does not exist is a KeyError."""
    with pytest.raises(KeyError):
        compile_type(f"{CORE}Zork")


def test_depth_ends_in_an_answer() -> None:
    """A recursive type nested deeper than the stack is refused."""
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"not": schema}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    with pytest.raises(GoJsonError, match="exceeded max depth"):
        compile_type(CRD).decode({"spec": {"versions": versions}}, Report())


TYPES = sorted(
    name
    for file in (builtin.folder() / "types").glob("*.json")
    for name in builtin.load(f"types/{file.stem}")
    if "properties" in builtin.type_schema(name)
)


def test_every_type_has_a_zero_that_decodes() -> None:
    """All types compile, and their zero value decodes to itself."""
    for name in TYPES:
        zero = decode(name, {})
        assert decode(name, zero) == zero, name


LEAVES: dict[ShapeKind, st.SearchStrategy[Any]] = {
    ShapeKind.STRING: st.sampled_from(["", "a", "é"]),
    ShapeKind.BOOL: st.booleans(),
    ShapeKind.INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    ShapeKind.INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    ShapeKind.DOUBLE: st.integers() | st.sampled_from([Float("1.0"), Float("1e21"), Float("-0.0")]),
    ShapeKind.BYTES: st.sampled_from(["", "QQ==", "QR==", "Q\nQ=="]),
    ShapeKind.TIME: st.sampled_from(
        ["2024-02-29T23:59:59Z", "2024-01-01T00:00:00.9-07:30", "0001-01-01T00:00:00Z"]
    ),
    ShapeKind.MICRO_TIME: st.sampled_from(
        ["2024-01-02T03:04:05.000006Z", "0001-01-01T00:00:00.000000Z"]
    ),
    ShapeKind.QUANTITY: st.sampled_from(["1", "1000m", "0.5Gi", "1e3", 5, Float("1.5")]),
    ShapeKind.INT_OR_STRING: st.sampled_from([0, 80, "http", ""]),
    ShapeKind.FIELDS: st.sampled_from([{}, {"f:a": {}}]),
    ShapeKind.RAW: st.sampled_from([{}, {"b": 1, "a": None}, [], "x"]),
    ShapeKind.SCHEMA_OR_BOOL: st.sampled_from([True, False, {}, {"type": "string", "zork": 1}]),
    ShapeKind.SCHEMA_OR_LIST: st.sampled_from([{}, [], [{}, {"type": "x"}], 5]),
    ShapeKind.SCHEMA_OR_STRINGS: st.sampled_from([{}, [], ["a"], "x"]),
}


def later(shape: Shape, depth: int) -> st.SearchStrategy[Any]:
    """The same, made when drawn from: types are recursive."""
    return st.deferred(lambda: values_of(shape, depth))


def values_of(shape: Shape, depth: int) -> st.SearchStrategy[Any]:
    """Values that fit a shape, null included."""
    if shape.struct is not None:
        if depth <= 0 or not shape.struct.fields:
            return st.just({})
        members = {
            name: later(field.shape, depth - 1) for name, field in shape.struct.fields.items()
        }
        return st.none() | st.lists(st.sampled_from(sorted(members)), max_size=5).flatmap(
            lambda names: st.fixed_dictionaries({name: members[name] for name in names})
        )
    if shape.element is not None:
        inner = later(shape.element, depth - 1)
        if shape.kind is ShapeKind.LIST:
            return st.lists(inner, max_size=2)
        return st.dictionaries(st.sampled_from(["b", "a", "é"]), inner, max_size=2)
    return st.none() | LEAVES[shape.kind]


@pytest.mark.parametrize(
    "type_name",
    [
        f"{CORE}Pod",
        f"{CORE}Secret",
        f"{CORE}Event",
        f"{CORE}Node",
        f"{CORE}PersistentVolume",
        "io.k8s.api.apps.v1.Deployment",
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
        CRD,
    ],
)
def test_decoding_twice_is_decoding_once(type_name: str) -> None:
    """The result of decoding decodes to itself, to the byte, with nothing to report."""
    shape = Shape(ShapeKind.STRUCT, "", struct=struct(type_name))

    @settings(max_examples=40, deadline=None)
    @given(values_of(shape, 6))
    def check(raw: Any) -> None:
        once = compile_type(type_name).decode(raw, Report())
        assert encode(decode(type_name, once)) == encode(once)

    check()


@pytest.mark.parametrize(
    "type_name", [f"{CORE}Pod", f"{CORE}Secret", f"{CORE}Node", "io.k8s.api.apps.v1.Deployment"]
)
def test_members_of_a_stored_object_need_no_decoding(type_name: str) -> None:
    """What is made of the others and of copies is what decoding makes of all, to the byte."""
    target = struct(type_name)
    shape = Shape(ShapeKind.STRUCT, "", struct=target)

    @settings(max_examples=40, deadline=None)
    @given(values_of(shape, 6), values_of(shape, 6))
    def check(first: Any, second: Any) -> None:
        stored = decoder.decode(first, Report())
        raw = {**stored, **(second or {})}
        report = Report()
        whole = decoder.decode(raw, report)
        quick = decoder.decode_changed(raw, stored)
        if report:
            assert quick is None
        elif quick is not None:
            assert encode(quick) == encode(whole)
            shared = [name for name in quick if raw.get(name) is stored.get(name)]
            assert not any(
                quick[name] is raw[name] for name in shared if isinstance(raw.get(name), dict)
            )

    decoder = compile_type(type_name)
    check()


def test_only_what_changed_is_decoded() -> None:
    """A member that is the stored one is taken as it is, an equal one is read as any other."""
    decoder = compile_type(f"{CORE}ConfigMap")
    stored = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"labels": {"b": "", "a": ""}}}
    raw = {"data": {"b": "1", "a": "2"}, **stored}
    assert encode(decoder.decode_changed(raw, stored)) == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{"b":"","a":""}},'
        b'"data":{"a":"2","b":"1"}}'
    )
    equal = {**raw, "metadata": {"labels": {"b": "", "a": ""}}}
    assert b'"labels":{"a":"","b":""}' in encode(decoder.decode_changed(equal, stored))


@pytest.mark.parametrize(
    "changed", [{"data": 1}, {"data": {"a": 1}}, {"unknown": {}}, {"metadata": {"labels": {}}}]
)
def test_what_is_to_be_told_of_is_decoded_whole(changed: Any) -> None:
    """Unknown members, wrong types and empty members have words of their own."""
    decoder = compile_type(f"{CORE}ConfigMap")
    stored = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}
    assert decoder.decode_changed({**stored, **changed}, stored) is None


def test_numbers_of_any_shape_are_decoded_whole() -> None:
    """The text of a fraction is not in a parsed object."""
    assert compile_type(CRD).decode_changed({}, {}) is None
