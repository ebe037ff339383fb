"""Questions of access reviews that cannot be asked, and of whom a token is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.api.subresources.reviews import spec_causes
from kubetrio.config import Authentication, Config, Storage
from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api

FIELDS = "spec.resourceAttributes.fieldSelector"
LABELS = "spec.resourceAttributes.labelSelector"


def told(**attributes: Any) -> list[str]:
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods", **attributes}}
    return [f"{cause.field}: {cause.message}" for cause in spec_causes(spec, subject=False)]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"key": "spec.nodeName", "operator": "In", "values": ["n"]}, []),
        ({"key": "spec.nodeName", "operator": "Near"}, []),
        (
            {"operator": "In"},
            [
                f"{FIELDS}.requirements[0].key: Required value: must be specified",
                (
                    f"{FIELDS}.requirements[0].values: Required value: must be specified when "
                    "`operator` is 'In' or 'NotIn'"
                ),
            ],
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            [
                (
                    f"{FIELDS}.requirements[0].values: Forbidden: may not be specified when "
                    "`operator` is 'Exists' or 'DoesNotExist'"
                )
            ],
        ),
    ],
)
def test_requirements_on_fields(requirement: dict[str, Any], expected: list[str]) -> None:
    """A requirement has a key, and values where its operator wants some."""
    assert told(fieldSelector={"requirements": [requirement]}) == expected


def test_requirements_on_labels() -> None:
    """Keys and values are those of labels; operators may be newer than this server."""
    requirement = {"key": "a b", "operator": "Near", "values": ["c d"]}
    fields = [
        line.partition(": ")[0] for line in told(labelSelector={"requirements": [requirement]})
    ]
    assert fields == [
        f"{LABELS}.requirements[0].key",
        f"{LABELS}.requirements[0].values[0]",
    ]


def test_a_selector_is_written_in_one_way() -> None:
    """Either as text or as requirements, which are checked in any case."""
    assert told(fieldSelector={}) == [
        (
            f"{FIELDS}.requirements: Required value: when {FIELDS} is specified, requirements or "
            "rawSelector is required"
        )
    ]
    assert told(fieldSelector={"rawSelector": "a=b"}) == []
    both = {"rawSelector": "a=b", "requirements": [{"operator": "Exists"}]}
    assert told(fieldSelector=both) == [
        (
            f'{FIELDS}.rawSelector: Invalid value: "a=b": may not specified at the same time as '
            "requirements"
        ),
        f"{FIELDS}.requirements[0].key: Required value: must be specified",
    ]


@pytest.mark.parametrize(
    ("token", "user"), [("secret", "alice"), (" secret", ""), ("secret x", "alice"), ("wrong", "")]
)
async def test_whose_token_this_is(tmp_path: Path, token: str, user: str) -> None:
    """Blanks are part of it."""
    file = tmp_path / "tokens.csv"
    file.write_text("secret,alice,1\n")
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        auth=Authentication(token_auth_file=file),
    )
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
    async with open_api(config=config) as server, server.connect() as client:
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        answer = await client.request("POST", path, json={**review, "spec": {"token": token}})
        status = answer.json()["status"]
        assert status.get("authenticated", False) is bool(user)
        assert status["user"].get("username", "") == user


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([], ["first", "second"]),
        (["second", "elsewhere", "second"], ["second", "second"]),
        (["second", "first"], ["second", "first"]),
        (["elsewhere"], None),
    ],
)
async def test_a_token_is_for_the_audiences_of_this_api(
    tmp_path: Path, asked: list[str], told: list[str] | None
) -> None:
    """A review for others is refused; the answer names those that both know, as asked."""
    file = tmp_path / "tokens.csv"
    file.write_text("secret,alice,1\n")
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        auth=Authentication(token_auth_file=file, api_audiences=("first", "second")),
    )
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
    async with open_api(config=config) as server, server.connect() as client:
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        body = {**review, "spec": {"token": "secret", "audiences": asked}}
        status = (await client.request("POST", path, json=body)).json()["status"]
    if told is None:
        assert status == {"user": {}, "error": "invalid bearer token"}
    else:
        assert (status["authenticated"], status["audiences"]) == (True, told)


async def test_reviews_say_who_owns_their_fields(client: Client) -> None:
    """They are created like other objects; those about the asker keep nothing of the body."""
    spec = {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}
    kind = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await client.request("POST", path, json={**kind, "spec": spec})
    [entry] = answer.json()["metadata"]["managedFields"]
    assert list(entry["fieldsV1"]["f:spec"]) == ["f:nonResourceAttributes", "f:user"]
    named = {**kind, "metadata": {"name": "n"}, "spec": spec}
    assert (await client.request("POST", path, json=named)).status == 422
    kind = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await client.request("POST", path, json={**kind, "metadata": {"name": "n"}})
    assert list(answer.json()["metadata"]) == ["creationTimestamp"]


async def test_reviews_do_not_say_who_they_are(client: Client) -> None:
    """As of any object that is created: what a server gives is not taken from the body."""
    kept = {"name": "n", "labels": {"a": "b"}, "generation": 3, "resourceVersion": "7"}
    given = {
        "uid": "u", "selfLink": "/x", "creationTimestamp": "2025-01-01T00:00:00Z",
        "deletionTimestamp": "2025-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5,
        "namespace": "shop",
    }  # fmt: skip
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
    body = {**review, "metadata": {**kept, **given}, "spec": {"token": "none"}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    meta = (await client.request("POST", path, json=body)).json()["metadata"]
    assert {name for name in meta if name != "managedFields"} == set(kept)
    assert not {"f:uid", "f:deletionTimestamp"} & set(
        meta["managedFields"][0]["fieldsV1"]["f:metadata"]
    )


REVIEWS = "/apis/authorization.k8s.io/v1"


async def test_access_reviews(client: Client) -> None:
    """The administrator may, somebody may not."""
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    kind = {"apiVersion": "authorization.k8s.io/v1"}
    mine = {**kind, "kind": "SelfSubjectAccessReview", "spec": spec}
    answer = await client.request("POST", REVIEWS + "/selfsubjectaccessreviews", json=mine)
    assert (answer.status, answer.json()["status"]) == (201, {"allowed": True})
    theirs = {**kind, "kind": "SubjectAccessReview", "spec": {**spec, "user": "x"}}
    answer = await client.request("POST", REVIEWS + "/subjectaccessreviews", json=theirs)
    assert answer.json()["status"]["allowed"] is False


def test_an_access_review_asks_one_question_about_somebody() -> None:
    """Both kinds of attributes, none, or nobody: causes as kube-apiserver words them."""
    both = {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/"}, "user": "x"}
    fields = [cause.field for cause in spec_causes(both, subject=True)]
    assert fields == ["spec.nonResourceAttributes"]
    fields = [cause.field for cause in spec_causes({}, subject=True)]
    assert fields == ["spec.resourceAttributes", "spec.user"]
