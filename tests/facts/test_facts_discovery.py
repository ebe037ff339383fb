"""Discovery documents."""

from typing import Any

from facts.discovery import core, groups, legacy_groups, resources, root_paths

SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
APPS: dict[str, Any] = {
    "metadata": {"name": "apps"},
    "versions": [
        {
            "version": "v1",
            "freshness": "Current",
            "resources": [
                {
                    "resource": "deployments",
                    "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                    "scope": "Namespaced",
                    "singularResource": "deployment",
                    "shortNames": ["deploy"],
                    "verbs": ["get", "list"],
                    "subresources": [
                        {"subresource": "scale", "responseKind": SCALE, "verbs": ["get"]}
                    ],
                }
            ],
        }
    ],
}
LEGACY = {
    "apps/v1": {
        "resources": [
            {"name": "deployments", "kind": "Deployment", "storageVersionHash": "h="},
            {"name": "deployments/scale", "kind": "Scale", "group": "autoscaling", "version": "v1"},
        ]
    }
}


def test_a_resource_joins_both_documents() -> None:
    """The old one alone has the hash of the storage version, and the group of a subresource."""
    assert resources([APPS], LEGACY) == {
        "apps/v1/deployments": {
            "kind": "Deployment",
            "responseKind": {"group": "", "version": "", "kind": "Deployment"},
            "scope": "Namespaced",
            "singular": "deployment",
            "shortNames": ["deploy"],
            "verbs": ["get", "list"],
            "storageVersionHash": "h=",
        },
        "apps/v1/deployments/scale": {
            "kind": "Scale",
            "responseKind": SCALE,
            "scope": "Namespaced",
            "singular": "",
            "verbs": ["get"],
            "legacyGroup": "autoscaling",
            "legacyVersion": "v1",
        },
    }


def test_groups_keep_their_order() -> None:
    """The order is a fact: clients prefer what comes first."""
    assert groups([APPS, {"metadata": {}, "versions": []}]) == [
        {"group": "apps", "versions": ["v1"], "freshness": ["Current"]},
        {"group": "", "versions": [], "freshness": []},
    ]


def test_the_core_group_is_made_from_the_old_document() -> None:
    """Upstream does not publish it the new way; a subresource may have no resource of its own."""
    rows = [
        {
            "name": "pods",
            "kind": "Pod",
            "namespaced": True,
            "singularName": "pod",
            "verbs": ["get"],
        },
        {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        {"name": "alone/sub", "kind": "Sub", "namespaced": False, "verbs": ["create"]},
    ]
    legacy = {"v1": {"resources": rows}}
    found = resources([core(legacy, ["v1"])], legacy)
    assert list(found) == ["/v1/pods", "/v1/pods/log", "/v1/alone/sub"]
    assert (found["/v1/pods"]["scope"], found["/v1/alone/sub"]["scope"]) == (
        "Namespaced",
        "Cluster",
    )


def test_groups_of_the_old_document() -> None:
    """Versions by name, and the preferred one."""
    group = {
        "name": "apps",
        "versions": [{"version": "v2"}, {"version": "v1"}],
        "preferredVersion": {"version": "v2"},
    }
    assert legacy_groups({"groups": [group]}) == [
        {"name": "apps", "versions": ["v2", "v1"], "preferredVersion": "v2"}
    ]


def test_paths_above_the_groups() -> None:
    """Those of groups are known from elsewhere."""
    paths = ["/api", "/api/v1", "/apis/apps", "/healthz", "/version"]
    assert root_paths({"paths": paths}) == ["/healthz", "/version"]
