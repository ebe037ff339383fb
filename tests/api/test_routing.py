"""Which path takes which verb."""

from __future__ import annotations

import pytest

from kubetrio.api import routing
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError

REGISTRY = registry()


def request(method: str, target: str) -> Request:
    path, _, query = target.partition("?")
    made = Request(method, path, query, {}, [])
    made.query = parse_query(query)
    made.info = resolve(method, path, made.query)
    return made


@pytest.mark.parametrize(
    ("method", "target", "plural"),
    [
        ("GET", "/api/v1/pods", "pods"),
        ("GET", "/api/v1/namespaces/ns/pods/p", "pods"),
        ("GET", "/api/v1/namespaces/ns/pods/p/status", "pods"),
        ("POST", "/api/v1/namespaces/ns/pods", "pods"),
        ("DELETE", "/api/v1/namespaces/ns/pods", "pods"),
        ("GET", "/api/v1/namespaces/ns", "namespaces"),
        ("PUT", "/api/v1/namespaces/ns/finalize", "namespaces"),
        ("GET", "/apis/apps/v1/namespaces/ns/deployments/d/scale", "deployments"),
        ("GET", "/api/v1/watch/namespaces/ns/pods/p", "pods"),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", "pods"),
        ("GET", "/api/v1/nodes/n/proxy/a/b/c", "nodes"),
    ],
)
def test_paths_that_lead_somewhere(method: str, target: str, plural: str) -> None:
    """The resource they name."""
    assert routing.find(REGISTRY, request(method, target)).resource == plural


@pytest.mark.parametrize(
    ("method", "target", "code"),
    [
        ("GET", "/api/v1/things", 404),
        ("GET", "/api/v9/pods", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
        ("GET", "/api/v1/namespaces/ns/nodes", 404),
        ("GET", "/api/v1/pods/p", 404),
        ("GET", "/api/v1/namespaces/ns/pods/p/nothing", 404),
        ("GET", "/api/v1/namespaces/ns/pods/p/status/more", 404),
        ("GET", "/api/v1/watch/namespaces/ns/pods/p/status", 404),
        ("GET", "/api/v1/proxy/nodes/n", 404),
        ("POST", "/api/v1/watch/namespaces/ns/pods", 405),
        ("GET", "/api/v1/watch/componentstatuses", 404),
        ("POST", "/api/v1/watch/componentstatuses", 404),
        ("HEAD", "/api/v1/watch/componentstatuses/etcd-0", 404),
        ("GET", "/api/v1/watch/bindings", 404),
        ("DELETE", "/apis/authorization.k8s.io/v1/watch/subjectaccessreviews", 404),
        ("HEAD", "/api/v1/watch/pods", 405),
        ("GET", "/api/v1/componentstatuses?watch=1", 405),
        ("POST", "/api/v1/pods", 405),
        ("POST", "/api/v1/namespaces/ns/pods/p", 405),
        ("PUT", "/api/v1/namespaces/ns/pods", 405),
        ("PATCH", "/api/v1/namespaces/ns/pods", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        *(
            (method, path, 405)
            for method in ("POST", "DELETE", "PUT", "PATCH")
            for path in ("/api/v1/configmaps", "/apis/apps/v1/deployments", "/api/v1/pods")
        ),
        ("HEAD", "/api/v1/namespaces/ns/pods/p", 405),
        ("OPTIONS", "/api/v1/pods", 405),
        ("BREW", "/api/v1/pods", 405),
        ("DELETE", "/api/v1/namespaces/ns/pods/p/status", 405),
    ],
)
def test_paths_that_do_not(method: str, target: str, code: int) -> None:
    """404 for what is not there, 405 for a verb it does not take."""
    with pytest.raises(ApiError) as caught:
        routing.find(REGISTRY, request(method, target))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
        ("a%b", "may not contain '%'"),
        ("%", "may not contain '%'"),
    ],
)
def test_names_that_nothing_is_stored_under(name: str, why: str) -> None:
    """400 in kube-apiserver's words."""
    with pytest.raises(ApiError) as caught:
        routing.check_name(name)
    words = f'Name parameter invalid: "{name}": {why}'
    assert (caught.value.code, caught.value.message) == (400, words)


def test_names_that_something_may_be_stored_under() -> None:
    """Whether the kind allows them is not asked here."""
    for name in ("", "a.b", "...", "Bad_Name", "system:node"):
        routing.check_name(name)


def test_a_group_nobody_serves() -> None:
    """A plain 404 without a Status, as Go's mux answers."""
    with pytest.raises(routing.NotServed):
        routing.find(REGISTRY, request("GET", "/apis/example.com/v1/things"))


def test_the_refusal_of_a_handler_comes_with_its_warnings() -> None:
    """One of the route table does not."""
    for target, warned in [
        ("/api/v1/componentstatuses?watch=1", True),
        ("/api/v1/watch/componentstatuses", False),
    ]:
        asked = request("GET", target)
        with pytest.raises(ApiError):
            routing.find(REGISTRY, asked)
        assert bool(asked.response_headers) is warned


def test_deprecated_resources() -> None:
    """Those that the API reference calls deprecated, and no other."""
    warned = {kind.resource for kind in REGISTRY.resources.values() if kind.deprecated}
    assert warned == {"componentstatuses", "endpoints"}
