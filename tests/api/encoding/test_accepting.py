"""What endpoints offer, and what clients accept of it."""

from __future__ import annotations

import pytest

from kubetrio.api.encoding.accepting import accept, accept_error, go_type, object_offer, offered
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.wire import negotiate

RESOURCES = registry().resources


def request(path: str, accepts: str = "", query: str = "", agent: str = "") -> Request:
    headers = {b"accept": accepts.encode(), b"user-agent": agent.encode()}
    made = Request("GET", path, query, {k: v for k, v in headers.items() if v}, [])
    made.query = parse_query(query)
    made.info = resolve("GET", path, made.query)
    return made


def test_an_answer_is_remembered_with_its_request() -> None:
    """A write asks before its body is read, and again."""
    asked = request("/api/v1/pods", "application/yaml")
    first = accept(asked, negotiate.COLLECTION)
    assert first.serializer == "yaml"
    assert accept(asked, negotiate.COLLECTION) is first


def test_what_is_not_offered_is_406() -> None:
    """With what is."""
    with pytest.raises(ApiError) as caught:
        accept(request("/api/v1/pods", "text/html"), negotiate.COLLECTION)
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [("pretty=1", "", True), ("pretty=0", "curl/8", False), ("", "curl/8", True), ("", "x", False)],
)
def test_people_get_indented_json(query: str, agent: str, *, pretty: bool) -> None:
    """Where they ask for it, or use a program for people."""
    asked = request("/api/v1/pods", "", query, agent)
    assert accept(asked, negotiate.COLLECTION).pretty is pretty
    assert accept_error(asked).pretty is pretty


def test_errors_are_json_where_nothing_fits() -> None:
    """A refusal has to be told in some representation."""
    assert accept_error(request("/api/v1/pods", "text/html")).serializer == "json"


@pytest.mark.parametrize(
    ("key", "path", "offer"),
    [
        (("", "v1", "pods"), "/api/v1/namespaces/a/pods/b", negotiate.OBJECT),
        (("", "v1", "pods"), "/api/v1/namespaces/a/pods/b/binding", negotiate.NO_TABLE),
        (
            ("authorization.k8s.io", "v1", "subjectaccessreviews"),
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            negotiate.NO_TABLE,
        ),
    ],
)
def test_what_is_only_created_is_no_table(
    key: tuple[str, str, str], path: str, offer: negotiate.Offer
) -> None:
    """Nor is a subresource without columns."""
    assert object_offer(request(path), RESOURCES[key]) is offer


def test_cbor_is_offered_where_it_is_spoken() -> None:
    """Behind its feature gate."""
    pods = RESOURCES["", "v1", "pods"]
    assert offered(pods, negotiate.OBJECT, cbor=False) is negotiate.OBJECT
    assert offered(pods, negotiate.OBJECT, cbor=True) is negotiate.CBOR_OFFERS[negotiate.OBJECT]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (("", "v1", "pods"), "*core.Pod"),
        (("apps", "v1", "deployments"), "*apps.Deployment"),
        (("rbac.authorization.k8s.io", "v1", "roles"), "*rbac.Role"),
    ],
)
def test_types_have_the_names_that_go_prints(key: tuple[str, str, str], name: str) -> None:
    """Of objects, and with ``List`` behind them."""
    assert go_type(RESOURCES[key], is_list=False) == name
    assert go_type(RESOURCES[key], is_list=True) == name + "List"
