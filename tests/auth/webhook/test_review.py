"""SubjectAccessReviews: what is sent, and answers that are none."""

from __future__ import annotations

import pytest
from reviews import ALICE, ASKED

from kubetrio.auth.webhook.review import Status, WebhookFailed, body_of, spec_of, status_of
from kubetrio.machinery.identity import (
    Attributes,
    Narrowing,
    SelectorRequirement,
)

CLASS = "Go value of type struct { APIVersion string "


STRUCT = CLASS + '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


SCHEME = 'in scheme "k8s.io/client-go/kubernetes/scheme/register.go:82"'


def test_what_is_sent() -> None:
    """Members without a value are left out, selectors are requirements."""
    selected = Attributes(
        user=ALICE, verb="list", api_group="apps", resource="deployments",
        narrowing=Narrowing(
            (SelectorRequirement("metadata.name", "In", ("a",)),),
            (SelectorRequirement("b", "Exists"),),
        ),
    )  # fmt: skip
    who = {"user": "alice", "uid": "7", "groups": ["devs"], "extra": {"k": ["v"]}}
    assert spec_of(selected) == {
        **who,
        "resourceAttributes": {
            "verb": "list", "group": "apps", "resource": "deployments",
            "fieldSelector": {
                "requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
            },
            "labelSelector": {"requirements": [{"key": "b", "operator": "Exists"}]},
        },
    }  # fmt: skip
    path = Attributes(user=ALICE, verb="get", path="/x", resource_request=False)
    assert spec_of(path) == {**who, "nonResourceAttributes": {"path": "/x", "verb": "get"}}


def test_groups_have_another_name_in_the_old_version() -> None:
    """As v1beta1 has it."""
    assert b'"group":["devs"]' in body_of(spec_of(ASKED), "v1beta1")
    assert b'"groups":["devs"]' in body_of(spec_of(ASKED), "v1")


@pytest.mark.parametrize(
    ("code", "body", "why"),
    [
        (200, "{bad", ("couldn't get version/kind; json parse error: invalid character 'b' looking "
         "for beginning of object key string")),
        (200, "", "0-length response with status code: 200 and content type: application/json"),
        (204, "", "0-length response with status code: 204 and content type: application/json"),
        (200, "[]", f"couldn't get version/kind; json parse error: json: cannot unmarshal array into {STRUCT}"),  # noqa: E501
        (200, '{"apiVersion":"authorization.k8s.io/v1","kind":"TokenReview"}',
         f'no kind "TokenReview" is registered for version "authorization.k8s.io/v1" {SCHEME}'),
        (200, '{"apiVersion":"authorization.k8s.io/v9","kind":"SubjectAccessReview"}',
         f'no kind "SubjectAccessReview" is registered for version "authorization.k8s.io/v9" {SCHEME}'),  # noqa: E501
        (200, '{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview"}',
         "converting (v1beta1.SubjectAccessReview) to (v1.SubjectAccessReview): unknown conversion"),  # noqa: E501
        (200, '{"apiVersion":"v1","kind":"Status"}',
         "converting (v1.Status) to (v1.SubjectAccessReview): unknown conversion"),
        (200, '{"status":{"allowed":"yes"}}', ("json: cannot unmarshal string into Go struct field "
         "SubjectAccessReviewStatus.status.allowed of type bool")),
        (401, "boom", "the server has asked for the client to provide credentials"),
        (403, "boom", "unknown"),
        (404, "boom", "the server could not find the requested resource"),
        (409, "boom", "the server reported a conflict"),
        (418, "boom", "the server responded with the status code 418 but did not return more information"),  # noqa: E501
        (302, "boom", "the server responded with the status code 302 but did not return more information"),  # noqa: E501
        (429, "boom", "the server has received too many requests and has asked us to try again later"),  # noqa: E501
        (500, "boom", 'an error on the server ("unknown") has prevented the request from succeeding'),  # noqa: E501
        (502, "boom", 'an error on the server ("unknown") has prevented the request from succeeding'),  # noqa: E501
        (503, "boom", "the server is currently unable to handle the request"),
        (403, '{"apiVersion":"v1","kind":"Status","message":"told"}', "told"),
    ],
)  # fmt: skip
def test_answers_that_are_none(code: int, body: str, why: str) -> None:
    """In the words of kube-apiserver, where an unlucky administrator looks for them."""
    with pytest.raises(WebhookFailed) as caught:
        status_of(code, body.encode(), "application/json", "v1")
    assert str(caught.value) == why


def test_answers_may_leave_much_out() -> None:
    """Kind and version, and the status; and may say more than is known."""
    assert status_of(200, b'{"status":{"allowed":true}}', "", "v1") == Status(allowed=True)
    assert status_of(200, b"null", "", "v1") == Status()
    assert status_of(200, b'{"foo":1,"status":{"allowed":true,"bar":2}}', "", "v1").allowed
