"""What comes back from a webhook, in kube-apiserver 1.36's words (recorded)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.plugins.webhooks.answers import NoReview, review_in
from kubetrio.plugins.webhooks.reviews import InvalidAnswer, verified, version_for

UID = "u-1"
JSON = "application/json"
SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"'
STRUCT = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)


def review(response: Any = None, **members: Any) -> bytes:
    head = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", **members}
    if isinstance(response, dict):
        response = {"uid": UID, "allowed": True, **response}
    return json.dumps({**head, "response": response}).encode()


UNREAD = [
    (200, JSON, b"", f"0-length response with status code: 200 and content type: {JSON}"),
    (
        200,
        JSON,
        b'{"kind":',
        "couldn't get version/kind; json parse error: unexpected end of JSON input",
    ),
    (
        200,
        JSON,
        b"garbage",
        (
            "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go "
            f"value of type {STRUCT}"
        ),
    ),
    (
        200,
        JSON,
        b"[]",
        (
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go "
            f"value of type {STRUCT}"
        ),
    ),
    (
        200,
        JSON,
        review({}, kind="Foo"),
        f'no kind "Foo" is registered for version "admission.k8s.io/v1" {SCHEME}',
    ),
    (
        200,
        JSON,
        b'{"kind":"Pod","apiVersion":"v1"}',
        f'no kind "Pod" is registered for version "v1" {SCHEME}',
    ),
    (
        200,
        JSON,
        review({}, apiVersion="admission.k8s.io/v1beta1"),
        "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        200,
        JSON,
        b'{"kind":"Status","apiVersion":"v1","status":"Success"}',
        "converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        200,
        JSON,
        review({"allowed": "yes"}),
        (
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed "
            "of type bool"
        ),
    ),
    (
        200,
        JSON,
        review({"auditAnnotations": {"a": 5}}),
        (
            "json: cannot unmarshal number into Go struct field "
            "AdmissionResponse.response.auditAnnotations of type string"
        ),
    ),
    (200, JSON, review({"patch": "!!!"}), "illegal base64 data at input byte 0"),
    (
        200,
        "a/b/c; x",
        review({}),
        "Internal error occurred: mime: unexpected content after media subtype",
    ),
    (400, "text/plain", b"x", "the server rejected our request for an unknown reason"),
    (403, "text/plain", b" sorry ", "sorry"),
    (404, "text/plain", b"x", "the server could not find the requested resource"),
    (
        418,
        "text/plain",
        b"x",
        "the server responded with the status code 418 but did not return more information",
    ),
    (
        500,
        "text/plain",
        b"sorry",
        'an error on the server ("sorry") has prevented the request from succeeding',
    ),
    (
        500,
        JSON,
        b'{"a":1}',
        'an error on the server ("unknown") has prevented the request from succeeding',
    ),
    (
        500,
        JSON,
        b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"st","code":409}',
        "st",
    ),
    (503, "", b"x", "the server is currently unable to handle the request"),
]


@pytest.mark.parametrize(("status", "kind", "body", "words"), UNREAD)
def test_what_is_no_review(status: int, kind: str, body: bytes, words: str) -> None:
    """Each is told in the words of Go's client."""
    with pytest.raises(NoReview) as caught:
        review_in(status, kind, body, "v1")
    assert str(caught.value) == words


INVALID = [
    (review(None), False, "webhook response was absent"),
    (b"{}", False, "webhook response was absent"),
    (b"null", False, "webhook response was absent"),
    (review({"uid": "x"}), False, 'expected response.uid="u-1", got "x"'),
    (
        json.dumps({"response": {"uid": UID}}).encode(),
        False,
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
    (review({"patch": "W10="}), False, "validating webhook may not return response.patch"),
    (
        review({"patchType": "JSONPatch"}),
        False,
        "validating webhook may not return response.patchType",
    ),
    (
        review({"patch": "W10="}),
        True,
        "webhook returned response.patch but not response.patchType",
    ),
    (
        review({"patchType": "", "patch": "W10="}),
        True,
        'webhook returned invalid response.patchType of ""',
    ),
]


@pytest.mark.parametrize(("body", "mutating", "words"), INVALID)
def test_reviews_that_do_not_count(body: bytes, mutating: bool, words: str) -> None:
    """Each is refused with kube-apiserver's reason."""
    with pytest.raises(InvalidAnswer) as caught:
        verified("v1", UID, review_in(200, JSON, body, "v1"), mutating=mutating)
    assert str(caught.value) == words


def test_yaml_and_unknown_members() -> None:
    """YAML is read like JSON, and members that nobody knows are ignored."""
    text = f"kind: AdmissionReview\nresponse:\n  uid: {UID}\n  allowed: true\n  more: [1]\n"
    found = review_in(200, "application/yaml", text.encode(), "v1")
    assert found["response"] == {"uid": UID, "allowed": True}


def test_older_reviews_are_not_checked() -> None:
    """In v1beta1 neither uid nor kind of a patch count, and a validating one's patch is dropped."""
    body = json.dumps({"response": {"uid": "x", "allowed": True, "patch": "W10="}}).encode()
    found = review_in(200, JSON, body, "v1beta1")
    assert verified("v1beta1", UID, found, mutating=True).patch_type == "JSONPatch"
    assert verified("v1beta1", UID, found, mutating=False).patch == b""


def test_no_version_in_common() -> None:
    """A webhook that takes neither version cannot be asked."""
    with pytest.raises(ValueError, match=r"known AdmissionReview versions \(v1, v1beta1\)$"):
        version_for(["v2"])


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: b"{" + text.encode()))
def test_any_bytes(body: bytes) -> None:
    """Whatever comes back is a review or a reason, never another error."""
    try:
        found = review_in(200, JSON, body, "v1")
    except NoReview:
        return
    with pytest.raises(InvalidAnswer):
        verified("v1", UID, found, mutating=True)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
MEMBERS = st.sampled_from(
    ["uid", "allowed", "status", "patch", "patchType", "auditAnnotations", "warnings"]
)


@given(st.dictionaries(MEMBERS, JSONS, max_size=4))
def test_any_response(response: dict[str, Any]) -> None:
    """Members of any type are read, or refused as `NoReview` or `InvalidAnswer`."""
    body = json.dumps({"response": response, "kind": "AdmissionReview"}).encode()
    try:
        verified("v1beta1", UID, review_in(200, JSON, body, "v1beta1"), mutating=True)
    except (NoReview, InvalidAnswer):
        pass
