"""Bodies of requests: whose fault it is, in kube-apiserver's words; and bytes as Go prints them."""

from __future__ import annotations

import json
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire.gojson import Float, parse
from kubetrio.wire.jsonpieces import LARGE_BYTES
from kubetrio.wire.jsonwire import (
    Decoded,
    decode_parsed,
    decode_request,
    encode,
    encode_indented,
    find_kind,
)

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def decode(body: bytes, want: GroupVersionKind = CONFIG_MAP) -> Decoded:
    return decode_request(body, want, scheme_of(want.group))


def refusal(body: bytes, want: GroupVersionKind = CONFIG_MAP) -> str:
    with pytest.raises(ApiError) as caught:
        decode(body, want)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


UNRECOGNISED = "the object provided is unrecognized (must be of type ConfigMap): "
PARSE = "couldn't get version/kind; json parse error: "
STRUCT = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", f"{PARSE}unexpected end of JSON input (<empty>)"),
        (b"{", f"{PARSE}unexpected end of JSON input ({{)"),
        (
            b'{"apiVersion":"v1","kind":"ConfigMap"} garbage',
            (
                f"{PARSE}invalid character 'g' after top-level value "
                '({"apiVersion":"v1","kind":"Con ...)'
            ),
        ),
        (b"[]", f"{PARSE}json: cannot unmarshal array into Go value of type {STRUCT} (5b5d)"),
        (b"3", f"{PARSE}json: cannot unmarshal number into Go value of type {STRUCT} (33)"),
        (
            b'{"kind":1}',
            (
                f"{PARSE}json: cannot unmarshal number into Go struct field .kind of type string "
                '({"kind":1})'
            ),
        ),
        (
            b'{"apiVersion":"a/b/c"}',
            'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})',
        ),
        (b" " * 31, f"{PARSE}unexpected end of JSON input ({'20' * 30} ...)"),
    ],
)
def test_bodies_without_a_kind(body: bytes, message: str) -> None:
    """What cannot be told a kind is shown in part: text after a brace, else hex."""
    assert refusal(body) == UNRECOGNISED + message


SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        (
            "v1",
            "Secret",
            (
                'Secret in version "v1" cannot be handled as a ConfigMap: '
                "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            "v1",
            "Zork",
            (
                'Zork in version "v1" cannot be handled as a ConfigMap: '
                f'no kind "Zork" is registered for version "v1" {SCHEME}'
            ),
        ),
        (
            "a\tb",
            "Zo\nrk",
            (
                'Zo\nrk in version "a\\tb" cannot be handled as a ConfigMap: '
                f'no kind "Zo\\nrk" is registered for version "a\\tb" {SCHEME}'
            ),
        ),
        (
            "apps/v1",
            "ConfigMap",
            (
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
                f'no kind "ConfigMap" is registered for version "apps/v1" {SCHEME}'
            ),
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            (
                'CustomResourceDefinition in version "v1" cannot be handled as a ConfigMap: '
                'no kind "CustomResourceDefinition" is registered for version '
                f'"apiextensions.k8s.io/v1" {SCHEME}'
            ),
        ),
        (
            "apps/v1",
            "DeleteOptions",
            (
                'DeleteOptions in version "v1" cannot be handled as a ConfigMap: converting '
                "(v1.DeleteOptions) to (core.ConfigMap): unknown conversion"
            ),
        ),
    ],
)
def test_wrong_kinds(api_version: str, kind: str, message: str) -> None:
    """Known kinds cannot be converted, unknown ones are not registered."""
    assert refusal(json.dumps({"apiVersion": api_version, "kind": kind}).encode()) == message


def test_a_wrong_kind_is_decoded_first() -> None:
    """A mistake inside a Secret is told before that it is no ConfigMap."""
    assert refusal(b'{"apiVersion":"v1","kind":"Secret","data":{"k":"not base64!"}}') == (
        'Secret in version "v1" cannot be handled as a ConfigMap: '
        "illegal base64 data at input byte 3"
    )


def test_another_version_of_the_kind() -> None:
    """What could be converted is refused for its version."""
    body = b'{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"}'
    want = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
    assert refusal(body, want) == (
        "the API version in the data (autoscaling/v2) does not match "
        "the expected API version (autoscaling/v1)"
    )


@pytest.mark.parametrize(
    "version", ["apps/v1beta1", "apps/v1beta2", "extensions/v1beta1", "apps/__internal"]
)
def test_a_version_that_is_not_served(version: str) -> None:
    """The scheme knows the versions of former releases, and the internal one."""
    body = json.dumps({"apiVersion": version, "kind": "Deployment"}).encode()
    assert refusal(body, GroupVersionKind("apps", "v1", "Deployment")) == (
        f"the API version in the data ({version}) does not match the expected API version (apps/v1)"
    )
    assert refusal(body).startswith('Deployment in version "') == (version != "")


@pytest.mark.parametrize(
    ("version", "kind", "message"),
    [
        ("apps/v1beta1", "DeploymentList", "(v1beta1.DeploymentList)"),
        ("apps/__internal", "Deployment", "(apps.Deployment)"),
        ("apps/v1beta1", "ListOptions", "(v1.ListOptions)"),
        ("nobody/v7", "Status", "(v1.Status)"),
    ],
)
def test_kinds_that_are_registered_without_being_served(
    version: str, kind: str, message: str
) -> None:
    """They are known, and cannot be what the path takes."""
    refused = refusal(json.dumps({"apiVersion": version, "kind": kind}).encode())
    assert refused.endswith(f"converting {message} to (core.ConfigMap): unknown conversion")


def test_a_group_has_no_internal_kind_of_that_name() -> None:
    """The internal version is told by its name."""
    body = b'{"apiVersion":"apps/__internal","kind":"DeleteOptions"}'
    assert refusal(body).endswith(
        f'no kind "DeleteOptions" is registered for the internal version of group "apps" {SCHEME}'
    )


def test_a_group_without_a_version() -> None:
    """The version of another group cannot be filled in."""
    body = b'{"apiVersion":"apps/"}'
    assert refusal(body).endswith(f"Object 'apiVersion' is missing in '{body.decode()}'")


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"kind":null,"apiVersion":""}'])
def test_missing_kinds_come_from_the_path(body: bytes) -> None:
    """An object that does not say what it is, is what the path takes."""
    decoded = decode(body)
    assert decoded.value == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}
    assert list(decoded.value)[:2] == ["kind", "apiVersion"]
    assert decoded.gvk == CONFIG_MAP


def test_kinds_are_found_in_any_case() -> None:
    """The first look ignores case, decoding does not."""
    assert find_kind(parse(b'{"KIND":"A","apiversion":"g/v"}')) == GroupVersionKind("g", "v", "A")
    assert decode(b'{"Kind":"ConfigMap"}').strict == ['unknown field "Kind"']


def test_strict_messages_in_the_order_of_the_text() -> None:
    """Unknown and duplicate fields are interleaved, as in the combined error."""
    decoded = decode(
        b'{"metadata":{"name":"a","bogusMeta":1},"data":{"a":"1","a":"2"},"unknownTop":{"x":1}}'
    )
    assert decoded.value["data"] == {"a": "2"}
    assert decoded.strict == [
        'unknown field "metadata.bogusMeta"',
        'duplicate field "data.a"',
        'unknown field "unknownTop"',
    ]
    with pytest.raises(ApiError) as caught:
        decoded.check_strict()
    assert caught.value.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "metadata.bogusMeta", duplicate field "data.a", unknown field "unknownTop"'
    )
    decode(b"{}").check_strict()


def test_other_servers_have_other_schemes() -> None:
    """A ConfigMap is not registered where CustomResourceDefinitions are."""
    assert 'no kind "ConfigMap" is registered for version "v1"' in refusal(
        b'{"apiVersion":"v1","kind":"ConfigMap"}', CRD
    )
    assert decode(b"{}", CRD).gvk == CRD


def test_depth_never_overflows_the_stack() -> None:
    """Nested schemas, unknown fields and plain brackets end in an answer."""
    schema = b'{"properties":{"a":' * 4000 + b"{}" + b"}}" * 4000
    head = b'{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":'
    assert refusal(head + schema + b"}}]}}", CRD).endswith("exceeded max depth")
    deep = b'{"x":' + b'{"a":' * 9000 + b"1" + b"}" * 9001
    assert decode(deep).strict == ['unknown field "x"']
    assert "exceeded max depth" in refusal(b'{"x":' + b'{"a":' * 20000 + b"1" + b"}" * 20001)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "metadata", "labels", "data", "name", "apiVersion", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(json_values)
def test_any_json_is_an_object_or_a_400(value: object) -> None:
    """Nothing but ApiError escapes."""
    codes = set()
    try:
        decode(json.dumps(value).encode())
    except ApiError as error:
        codes.add(error.code)
    assert codes <= {400}


def test_encode_escapes_what_go_escapes() -> None:
    """Characters with a meaning in HTML or JavaScript are written as escapes, others are not."""
    assert encode({"<&>": "\u2028\u2029\u2013é\x00\n"}) == (
        rb'{"\u003c\u0026\u003e":"\u2028\u2029' + "\u2013é".encode() + rb'\u0000\n"}'
    )


def test_encode_leaves_numbers_as_they_are() -> None:
    """Fractions stay as they were written and integers have any size."""
    assert encode([Float("1.50"), Float("1.0"), Float("1E21")]) == b"[1.50,1.0,1E21]"
    assert encode({"a": [2**70, Float("1.5"), "<"], "b": {}, "c": [], "d": None}) == (
        b'{"a":[1180591620717411303424,1.5,"\\u003c"],"b":{},"c":[],"d":null}'
    )


def test_encode_has_no_depth_limit() -> None:
    """What was read can be written."""
    body = b'{"a":[' * 4000 + b"1" + b"]}" * 4000
    assert encode(parse(body).value) == body


def test_encode_refuses_what_is_not_json() -> None:
    """A set is a mistake of the caller."""
    with pytest.raises(TypeError):
        encode({"a": {1}})


@settings(max_examples=100, deadline=None)
@given(json_values.filter(lambda value: "-0.0" not in repr(value)))
def test_encode_and_parse_are_inverse(value: object) -> None:
    """What is printed reads back as what prints the same; only the sign of zero is lost."""
    parsed = parse(json.dumps(value).encode()).value
    assert encode(parse(encode(parsed)).value) == encode(parsed)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ({"a": [1, {}], "b": "<&>\u2028"}, '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "@"\n}'),
        (
            {"a": 2**70, "b": [], "c": '{",:'},
            f'{{\n  "a": {2**70},\n  "b": [],\n  "c": "{{\\",:"\n}}',
        ),
    ],
)
def test_indented(value: object, text: str) -> None:
    """Two spaces a level, nothing inside what is empty, and what HTML would mind is escaped."""
    escaped = r"\u003c\u0026\u003e\u2028"
    assert encode_indented(value).decode() == text.replace("@", escaped)


class Probe:
    """Something that can be watched."""


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Nothing"])
def test_the_value_of_a_large_body_is_gone_when_it_is_decoded(kind: str) -> None:
    """What is not in the object is freed there and then, not where an error is answered."""
    probe = Probe()
    gone = weakref.ref(probe)
    said = parse(b'{"kind":"%b","apiVersion":"v1","data":{"a":"b"}}' % kind.encode())
    said.value["x"] = [[probe]]
    del probe
    body = b" " * (LARGE_BYTES + 1)
    if kind == "ConfigMap":
        decoded = decode_parsed(said, body, CONFIG_MAP, scheme_of(""))
        assert decoded.value["data"] == {"a": "b"}
        assert gone() is None
        return
    with pytest.raises(ApiError) as caught:
        decode_parsed(said, body, CONFIG_MAP, scheme_of(""))
    assert gone() is None, caught.value
