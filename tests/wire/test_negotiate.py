"""Choice of representation; headers and answers are recorded ones where kube-apiserver had them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.machinery.status import ApiError
from kubetrio.wire import negotiate as rules
from kubetrio.wire.negotiate import (
    COLLECTION,
    CORE_ROOT,
    CUSTOM,
    CUSTOM_WATCH,
    DOCUMENT,
    GROUPS_ROOT,
    OBJECT,
    WATCH,
    Offer,
    body_codec,
    check_stream,
    negotiate,
    negotiate_error,
    patch_type,
    wants_pretty,
)

JSON, YAML, PROTO = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
V1 = ";v=v1;g=meta.k8s.io"
DISCOVERY = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TYPES = f"{JSON}, {YAML}, {PROTO}"
STREAMS = f"{JSON};stream=watch, {PROTO};stream=watch"
ONLY = f"only the following media types are accepted: {TYPES}"
ROUTER = "406: Not Acceptable\n\nAvailable representations: "


@pytest.mark.parametrize(
    ("accept", "offer", "media_type", "as_kind"),
    [
        (None, OBJECT, JSON, ""),
        ("", OBJECT, JSON, ""),
        ("*/*", OBJECT, JSON, ""),
        (f"{YAML};q=0.1, {JSON};q=0.9", OBJECT, JSON, ""),
        (f"{YAML}, {JSON}", OBJECT, YAML, ""),
        ("application/x-foo, */*", OBJECT, JSON, ""),
        (f"{JSON}; charset=utf-8", OBJECT, JSON, ""),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", OBJECT, JSON, ""),
        (f"{PROTO},{JSON}", OBJECT, PROTO, ""),
        (f"{JSON};as=Table{V1}", COLLECTION, JSON, "Table"),
        (f"{JSON};as=Table;v=v1beta1;g=meta.k8s.io", COLLECTION, JSON, "Table"),
        (f"{YAML};as=Table{V1}", OBJECT, YAML, "Table"),
        (f"{JSON};as=Chair{V1},{JSON}", OBJECT, JSON, ""),
        (f"{JSON};as=PartialObjectMetadata{V1}", OBJECT, JSON, "PartialObjectMetadata"),
        (f"{PROTO};as=PartialObjectMetadataList{V1}", COLLECTION, PROTO,
         "PartialObjectMetadataList"),
        (f"{JSON};stream=watch", WATCH, JSON, ""),
        (JSON, WATCH, JSON, ""),
        (PROTO, WATCH, f"{PROTO};stream=watch", ""),
        (f"{PROTO};stream=watch", WATCH, f"{PROTO};stream=watch", ""),
        (f"{JSON};as=Table{V1}", WATCH, JSON, "Table"),
        (f"{JSON};sv=v1", OBJECT, JSON, ""),
        (YAML, CUSTOM, YAML, ""),
        ("application/*", CUSTOM, JSON, ""),
        (f"{PROTO},{JSON}", CUSTOM, JSON, ""),
        (f"{PROTO};as=PartialObjectMetadata{V1}", CUSTOM, PROTO, "PartialObjectMetadata"),
        (f"{PROTO};as=PartialObjectMetadata{V1}", CUSTOM_WATCH, f"{PROTO};stream=watch",
         "PartialObjectMetadata"),
        (f"{JSON}{DISCOVERY}", GROUPS_ROOT, f"{JSON}{DISCOVERY}", "APIGroupDiscoveryList"),
        (f"{JSON}{DISCOVERY}", CORE_ROOT, f"{JSON}{DISCOVERY}", "APIGroupDiscoveryList"),
        (f"{JSON},{JSON}{DISCOVERY}", GROUPS_ROOT, f"{JSON}{DISCOVERY}", "APIGroupDiscoveryList"),
        (f"{JSON}{DISCOVERY.replace('v2', 'v9')},{JSON}", GROUPS_ROOT, JSON, ""),
        (f"{JSON}{DISCOVERY},{JSON}", DOCUMENT, JSON, ""),
        (PROTO, DOCUMENT, PROTO, ""),
    ],
)  # fmt: skip
def test_accepted(accept: str | None, offer: Offer, media_type: str, as_kind: str) -> None:
    """The first acceptable clause decides, in the order of preference."""
    found = negotiate(accept, offer)
    assert (found.media_type, found.as_kind) == (media_type, as_kind)
    assert found.stream is offer.stream


@pytest.mark.parametrize(
    ("accept", "offer", "message", "details"),
    [
        ("application/*", OBJECT, ROUTER + TYPES, {}),
        ("text/html", OBJECT, ROUTER + TYPES, {}),
        ("application/cbor", OBJECT, ROUTER + TYPES, {}),
        ("application/x-nope", WATCH, f"{ROUTER}{TYPES}, {STREAMS}", {}),
        ("application/x-nope", COLLECTION, f"{ROUTER}{TYPES}, {STREAMS}", {}),
        (f"{PROTO};as=Table{V1}", OBJECT, ONLY, None),
        (f"{JSON};as=Table;v=v1alpha1;g=meta.k8s.io", OBJECT, ONLY, None),
        (f"{JSON};as=Table;v=v1;g=apps", OBJECT, ONLY, None),
        (f"{JSON};as=Chair{V1}", OBJECT, ONLY, None),
        (f"{JSON};v=v1", OBJECT, ONLY, None),
        (f"{JSON};stream=other", COLLECTION, ONLY, None),
        (f"{YAML};stream=watch", COLLECTION, ONLY, None),
        (f"{JSON};sv=v2", OBJECT, ONLY, None),
        (PROTO, CUSTOM, ONLY, None),
        ("text/html", CUSTOM, ONLY, None),
        (f"{JSON}{DISCOVERY.replace('v2', 'v9')}", GROUPS_ROOT, ONLY, None),
    ],
)
def test_refused(accept: str, offer: Offer, message: str, details: dict | None) -> None:
    """Router and handler refuse in their own words, every time they are asked."""
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            negotiate(accept, offer)
        error = caught.value
        assert (error.code, error.reason) == (406, "NotAcceptable")
        assert (error.message, error.details) == (message, details)


def test_a_watch_cannot_be_yaml() -> None:
    """It is told apart, because what is wrong with the options comes first."""
    accepted = negotiate(YAML, WATCH)
    with pytest.raises(ApiError) as caught:
        check_stream(accepted, WATCH)
    assert caught.value.code == 406
    assert caught.value.message == f"only the following media types are accepted: {STREAMS}"
    for good in (JSON, PROTO):
        check_stream(negotiate(good, WATCH), WATCH)


def test_target() -> None:
    """Group and version of the kind asked for are told."""
    found = negotiate(f"{JSON};as=Table;v=v1beta1;g=meta.k8s.io,{JSON}")
    assert (found.as_group, found.as_version) == ("meta.k8s.io", "v1beta1")


@pytest.mark.parametrize(
    ("accept", "serializer", "pretty"),
    [
        ("", "json", False),
        (YAML, "yaml", False),
        (PROTO, "protobuf", False),
        ("application/*", "json", False),
        (f"{JSON};as=Table{V1}", "json", True),
        (f"{JSON};as=Table{V1},{JSON}", "json", False),
        (f"{PROTO};as=Table{V1}", "json", True),
        ("text/html", "json", True),
    ],
)
def test_errors_always_have_a_representation(accept: str, serializer: str, pretty: bool) -> None:
    """Failures fall back to indented JSON."""
    found = negotiate_error(accept)
    assert (found.serializer, found.pretty) == (serializer, pretty)


def test_pretty() -> None:
    """Only JSON is indented; a parameter beats the client's name."""
    assert negotiate(f"{JSON};pretty=1").pretty
    assert not negotiate(f"{JSON};pretty=true").pretty
    assert not negotiate(f"{YAML};pretty=1").pretty
    assert wants_pretty(None, "curl/8.0")
    assert not wants_pretty("0", "curl/8.0")
    assert wants_pretty("true", "kubectl")
    assert not wants_pretty("", "kubectl")


def test_answers_are_cached() -> None:
    """The same header costs one lookup; a long one is not kept."""
    assert negotiate(f"{JSON};x=1") is negotiate(f"{JSON};x=1")
    long = f"{JSON};x={'y' * 2000}"
    assert negotiate(long) == negotiate(long)
    assert negotiate(long) is not negotiate(long)
    assert body_codec(f"{JSON};x={'y' * 2000}") == "json"


def test_cbor_where_enabled() -> None:
    """A server with the gate on offers CBOR, in sequences for watches."""
    speaks = (*rules.STANDARD, "cbor")
    offer = Offer(serializers=speaks, plain=speaks, stream=True)
    assert negotiate("application/cbor", offer).media_type == "application/cbor-seq"
    assert body_codec("application/cbor", speaks) == "cbor"


@given(st.text("application/jsoyml*;=, q01.vndkubertp", max_size=60))
def test_any_header(accept: str) -> None:
    """Any header is answered or refused with an ApiError."""
    for offer in (OBJECT, WATCH, CUSTOM, GROUPS_ROOT):
        with suppress(ApiError):
            negotiate(accept, offer)
    negotiate_error(accept)


@pytest.mark.parametrize(
    ("content_type", "codec"),
    [(None, "json"), ("", "json"), (f"{JSON}; charset=utf-8", "json"), ("APPLICATION/YAML", "yaml"),
     (f"{PROTO};type=x", "protobuf")],
)  # fmt: skip
def test_body(content_type: str | None, codec: str) -> None:
    """Parameters of a body's type are ignored."""
    assert body_codec(content_type) == codec


@pytest.mark.parametrize("content_type", ["text/plain", "application/cbor", f"{JSON};x", "*/*"])
def test_bad_body(content_type: str) -> None:
    """415 tells what would do."""
    with pytest.raises(ApiError) as caught:
        body_codec(content_type)
    assert caught.value.status() == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the body of the request was in an unknown format - accepted media types "
        f"include: {TYPES}",
        "reason": "UnsupportedMediaType", "code": 415,
    }  # fmt: skip


@pytest.mark.parametrize("custom", [False, True])
def test_patch_types(custom: bool) -> None:
    """Patches are told by their media type, parameters cut off."""
    for name in rules.CUSTOM_PATCH_TYPES:
        assert patch_type(f"{name};charset=utf-8", custom=custom) == name
    assert patch_type(rules.STRATEGIC_PATCH) == rules.STRATEGIC_PATCH


@pytest.mark.parametrize("content_type", [None, "application/merge-patch+yaml", JSON])
def test_bad_patch_of_a_built_in(content_type: str | None) -> None:
    """The router refuses, with empty details."""
    with pytest.raises(ApiError) as caught:
        patch_type(content_type)
    error = caught.value
    assert (error.code, error.message, error.details) == (415, "415: Unsupported Media Type", {})


@pytest.mark.parametrize("content_type", [None, rules.STRATEGIC_PATCH, JSON])
def test_bad_patch_of_a_custom_resource(content_type: str | None) -> None:
    """The handler refuses and lists what it takes."""
    with pytest.raises(ApiError) as caught:
        patch_type(content_type, custom=True)
    error = caught.value
    assert (error.code, error.details) == (415, None)
    assert error.message.endswith(
        "accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize(
    ("kind", "go_type", "is_list", "what"),
    [
        ("PartialObjectMetadata", "*core.ConfigMapList", True, "a list (*core.ConfigMapList)"),
        ("PartialObjectMetadataList", "*core.ConfigMap", False, "not a list (*core.ConfigMap)"),
    ],
)
def test_metadata_shape(kind: str, go_type: str, is_list: bool, what: str) -> None:
    """Asking for one where there are many is told, and the other way round."""
    error = rules.metadata_shape_mismatch(kind, go_type, is_list=is_list)
    assert error.message == f"you requested {kind}, but the requested object is {what}"
    assert error.details is None
