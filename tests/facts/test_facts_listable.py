"""Which resources can be listed, and where."""

import pytest

from facts.listable import collection_path, listable, resource_path, storable


@pytest.mark.parametrize(
    ("name", "path"),
    [("/v1/pods", "/api/v1/pods"), ("apps/v1/deployments", "/apis/apps/v1/deployments")],
)
def test_paths_of_collections(name: str, path: str) -> None:
    """The core group is elsewhere."""
    assert collection_path(name) == path


@pytest.mark.parametrize(
    ("path", "without"),
    [
        ("/api/v1/namespaces/default/pods", "/api/v1/pods"),
        ("/apis/apps/v1/namespaces/x/deployments", "/apis/apps/v1/deployments"),
        ("/api/v1/namespaces", "/api/v1/namespaces"),
        ("/api/v1/namespaces/x", "/api/v1/namespaces/x"),
        ("/api/v1/nodes", "/api/v1/nodes"),
    ],
)
def test_paths_without_namespace(path: str, without: str) -> None:
    """Namespaces themselves are in none."""
    assert resource_path(path) == without


RESOURCES = {
    "/v1/pods": {"verbs": ["list", "create"]},
    "/v1/pods/status": {"verbs": ["get", "list"]},
    "/v1/bindings": {"verbs": ["create"]},
}


def test_what_can_be_listed() -> None:
    """Resources with the verb, and no subresource."""
    assert list(listable(RESOURCES)) == ["/v1/pods"]


def test_one_sample_of_each_resource() -> None:
    """The first; what the server does not keep or have is left out."""
    samples = [
        {"path": "/api/v1/namespaces/default/pods", "object": 1},
        {"path": "/api/v1/namespaces/default/pods", "object": 2},
        {"path": "/api/v1/namespaces/default/bindings", "object": 3},
    ]
    assert storable(samples, RESOURCES) == {"/api/v1/pods": samples[0]}
