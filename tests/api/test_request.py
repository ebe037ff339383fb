"""What a method and a path mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.request import (
    LISTS,
    MOST_PARAMETERS,
    Request,
    RequestInfo,
    by_name,
    parse_query,
    resolve,
    truthy,
)

# A request a row, and below it: verb, prefix, group, version, namespace, resource, subresource,
# name; a dash is empty.
TABLE = """
GET /api/v1/pods
  list api - v1 - pods - -
POST /api/v1/namespaces/ns/pods
  create api - v1 ns pods - -
GET /api/v1/namespaces/ns/pods/p
  get api - v1 ns pods - p
HEAD /api/v1/namespaces/ns/pods/p
  get api - v1 ns pods - p
GET /api/v1/namespaces/ns/pods?watch=true
  watch api - v1 ns pods - -
GET /api/v1/namespaces/ns/pods?watch=1
  watch api - v1 ns pods - -
GET /api/v1/namespaces/ns/pods?watch=0
  list api - v1 ns pods - -
GET /api/v1/namespaces/ns/pods?watch=false
  list api - v1 ns pods - -
GET /api/v1/watch/pods
  watch api - v1 - pods - -
GET /api/v1/watch/namespaces/ns/pods/p
  watch api - v1 ns pods - p
PUT /api/v1/namespaces/ns/pods/p
  update api - v1 ns pods - p
PATCH /api/v1/namespaces/ns/pods/p
  patch api - v1 ns pods - p
DELETE /api/v1/namespaces/ns/pods/p
  delete api - v1 ns pods - p
DELETE /api/v1/namespaces/ns/pods
  deletecollection api - v1 ns pods - -
PUT /api/v1/namespaces/ns/pods/p/status
  update api - v1 ns pods status p
GET /api/v1/namespaces
  list api - v1 - namespaces - -
GET /api/v1/namespaces/ns
  get api - v1 ns namespaces - ns
PUT /api/v1/namespaces/ns/finalize
  update api - v1 ns namespaces finalize ns
PUT /api/v1/namespaces/ns/status
  update api - v1 ns namespaces status ns
GET /apis/apps/v1/deployments
  list apis apps v1 - deployments - -
PATCH /apis/apps/v1/namespaces/ns/deployments/d/scale
  patch apis apps v1 ns deployments scale d
GET /api/v1/proxy/namespaces/ns/pods/p
  proxy api - v1 ns pods - p
GET /api/v1/pods?fieldSelector=metadata.name%3Dp
  list api - v1 - pods - p
GET /api/v1/pods?watch=1&fieldSelector=metadata.name%3Dp
  watch api - v1 - pods - p
GET /api/v1/pods?fieldSelector=metadata.name%3D..
  list api - v1 - pods - -
GET /api/v1/pods?fieldSelector=metadata.name%3Da%25b
  list api - v1 - pods - -
GET /api/v1/pods?fieldSelector=metadata.name%21%3Dp
  list api - v1 - pods - -
GET /api/v1/pods?fieldSelector=%3D%3D%3D
  list api - v1 - pods - -
GET /api/v1/pods/
  list api - v1 - pods - -
GET /api/v1/namespaces/n%C3%A4/pods
  list api - v1 nä pods - -
OPTIONS /api/v1/pods
  - api - v1 - pods - -
"""


LINES = TABLE.strip().splitlines()


@pytest.mark.parametrize(("asked", "meant"), [*zip(LINES[::2], LINES[1::2], strict=True)])
def test_resource_paths(asked: str, meant: str) -> None:
    """Each row of the table."""
    method, target = asked.split()
    path, _, query = target.partition("?")
    info = resolve(method, path, parse_query(query))
    found = (info.verb, info.prefix, info.group, info.version, info.namespace, info.resource)
    assert info.is_resource
    assert [word or "-" for word in (*found, info.subresource, info.name)] == meant.split()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/apiss/a/b/c",
        "/healthz",
        "/openapi/v3/apis/apps/v1",
    ],
)
def test_other_paths(path: str) -> None:
    """Paths that are not about resources have the method as their verb."""
    assert resolve("GET", path, {}) == RequestInfo(is_resource=False, verb="get", path=path)


@pytest.mark.parametrize(
    "path", ["/api/v1/watch", "/api/v1/watch/", "/api/v1/proxy", "/apis/apps/v1/watch"]
)
def test_paths_that_end_where_a_resource_should_be(path: str) -> None:
    found = resolve("GET", path, {})
    assert (found.is_resource, found.unfinished) == (False, True)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [("", True), ("1", True), ("true", True), ("yes", True), ("0", False), ("False", False)],
)
def test_query_booleans(value: str, meaning: bool) -> None:
    """Anything but 0 and false is true."""
    assert truthy(value) is meaning


def test_the_first_of_repeated_parameters_counts() -> None:
    """As in Go's `url.Values.Get`."""
    assert parse_query("a=1&a=2&b=&c") == {"a": "1", "b": "", "c": ""}


@pytest.mark.parametrize(
    ("raw", "pairs"),
    [
        ("labelSelector=%zz&limit=1", {"limit": "1"}),
        ("limit=1;x=2", {}),
        ("limit=1%3Bx", {"limit": "1;x"}),
        ("a=c1%&b=%2&%g=1&c=100%25", {"c": "100%"}),
        ("a=%zz&a=1", {"a": "1"}),
        ("&&a+b=c+d%2B=", {"a b": "c d+="}),
    ],
)
def test_what_go_does_not_decode_is_not_there(raw: str, pairs: dict[str, str]) -> None:
    """Without a word; the other parameters are."""
    assert parse_query(raw) == pairs
    request = Request("GET", "/", raw, {}, [])
    assert request.query_list("a") == [value for name, value in pairs.items() if name == "a"]


def test_repeated_headers_and_parameters_are_all_there() -> None:
    """For those that may repeat."""
    headers = [(b"a", b"1"), (b"b", b"x"), (b"a", b"2")]
    request = Request("GET", "/", "e=1&e=2&f=3", by_name(headers), headers)
    assert request.header_list(b"a") == ["1", "2"]
    assert request.query_list("e") == ["1", "2"]
    assert request.header(b"a") == "1"
    assert request.header(b"b") == "x"
    assert request.header(b"none") == ""


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"authorization", b"accept", b"connection", b"te"]),
            st.sampled_from([b"", b"a", b"b, c"]),
        )
    )
)
def test_a_header_has_one_value(headers: list[tuple[bytes, bytes]]) -> None:
    """The first with its name, as in Go, unless it is a list about the connection."""
    found = by_name(headers)
    for name in {name for name, _ in headers}:
        values = [value for key, value in headers if key == name]
        assert found[name] == (b", ".join(values) if name in LISTS else values[0])
    assert set(found) == {name for name, _ in headers}


@given(
    st.sampled_from(["GET", "POST", "DELETE", "OPTIONS", "BREW"]),
    st.lists(st.sampled_from(["", "api", "apis", "v1", "namespaces", "watch", "%2F", "%ff", "a"])),
    st.text(max_size=20),
)
def test_any_path_means_something(method: str, parts: list[str], query: str) -> None:
    """No path and no query raises."""
    info = resolve(method, "/" + "/".join(parts), parse_query(query))
    assert bool(info.resource) <= info.is_resource


@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "BREW"]),
    st.sampled_from(["", "/api/v1", "/apis/apps/v1", "/api/v1/namespaces/a", "/api/v1/watch"]),
    st.lists(
        st.sampled_from(
            ["", "api", "apis", "v1", "apps", "namespaces", "watch", "proxy", "status", "-", "a"]
        ),
        max_size=9,
    ),
)
def test_what_is_remembered_of_a_folder_changes_nothing(
    method: str, front: str, parts: list[str]
) -> None:
    """A path means the same alone and as one of many beside each other."""
    path = f"{front}/{'/'.join(parts)}"
    remembered = resolve(method, path, {})
    assert remembered == resolve(method, path, {"pretty": "true"})


def test_a_query_of_too_many_parameters_is_none() -> None:
    """As in Go; reading it would take 30 ms."""
    assert parse_query("&".join(["a=1"] * MOST_PARAMETERS)) == {"a": "1"}
    assert parse_query("&".join(["a=1"] * (MOST_PARAMETERS + 1))) == {}
