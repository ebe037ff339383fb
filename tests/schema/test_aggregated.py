"""What others serve, as documents order and show it."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersion
from kubetrio.schema.aggregated import (
    NOTHING_AGGREGATED,
    AggregatedDocuments,
    AggregatedVersion,
    checked,
    from_resource_list,
)

KIND = {"group": "", "version": "", "kind": ""}


def served(**priorities: tuple[int, int]) -> AggregatedDocuments:
    """Versions of other servers; two underscores in a name separate version and group."""
    versions = {}
    for name, priority in priorities.items():
        version, _, group = name.partition("__")
        versions[GroupVersion(group, version)] = AggregatedVersion(priority, {"version": version})
    return AggregatedDocuments(versions=versions)


def test_nobody_else() -> None:
    """What this server has is what there is, in its own order."""
    ours = registry()
    assert NOTHING_AGGREGATED.groups(ours) is ours.groups


def test_what_only_apiservices_name() -> None:
    """It is in the older documents, by its priority."""
    ours = registry()
    named = {GroupVersion("a", "v1"): (20_000, 9), GroupVersion("batch", "v1"): (17_400, 15)}
    nobody = AggregatedDocuments(local=lambda: named)
    assert nobody.groups(ours) is ours.groups
    found = nobody.groups(ours, walked=True)
    assert list(found)[:2] == ["apiregistration.k8s.io", "a"]
    assert set(found) == {*ours.groups, "a"}
    here = AggregatedDocuments(local=lambda: {GroupVersion("batch", "v1"): (1, 1)})
    assert here.groups(ours, walked=True) is ours.groups


def test_versions_by_priority_then_by_stability() -> None:
    """As kube-apiserver prefers them."""
    others = served(v1beta1__x=(1, 9), v1__x=(1, 9), v2alpha1__x=(1, 9), v3__x=(1, 10))
    assert others.groups(registry())["x"] == ("v3", "v1", "v1beta1", "v2alpha1")


def test_groups_of_one_priority() -> None:
    """By name in the newer document; in the older ones by the version that has it."""
    others = served(v2__a=(1, 1), v1__b=(1, 1))
    assert list(others.groups(registry()))[-2:] == ["a", "b"]
    assert list(others.groups(registry(), walked=True))[-2:] == ["b", "a"]


def test_the_highest_priority_of_a_group_counts() -> None:
    """Whichever version has it."""
    others = served(v1__a=(1, 1), v1__b=(2, 1), v2__a=(3, 1))
    assert list(others.groups(registry()))[-2:] == ["a", "b"]


def test_registration_comes_first() -> None:
    """Whatever others say of themselves."""
    found = list(served(v1__a=(20_000, 1)).groups(registry()))
    assert found[:2] == ["apiregistration.k8s.io", "a"]


def test_subresources_without_a_resource() -> None:
    """One is made for them."""
    listed = [{"name": "a/b", "kind": "B", "namespaced": True, "verbs": ["get"]}]
    (found,) = from_resource_list(listed)
    assert (found["resource"], found["scope"], found["responseKind"]) == ("a", "Namespaced", KIND)
    assert found["subresources"][0]["responseKind"]["kind"] == "B"


def test_scopes_must_agree() -> None:
    """A namespaced subresource of what is not is a lie."""
    listed = [{"name": "a"}, {"name": "a/b", "namespaced": True}]
    with pytest.raises(ValueError, match="scopes"):
        from_resource_list(listed)


@pytest.mark.parametrize(
    "lie",
    [
        None, 7, [], {"resource": 7}, {"resource": "a", "verbs": "get"},
        {"resource": "a", "verbs": [1]}, {"resource": "a", "responseKind": "K"},
        {"resource": "a", "responseKind": {"kind": 1}}, {"resource": "a", "subresources": {"b": 1}},
        {"resource": "a", "subresources": [7]}, {"resource": "a", "shortNames": {"a": 1}},
    ],
)  # fmt: skip
def test_lies(lie: Any) -> None:
    """What is of another type is refused as such, and nothing else is raised."""
    with pytest.raises(ValueError, match=r"."):
        checked(lie)


def test_only_what_is_known_is_shown() -> None:
    """Further members are left out."""
    found = checked({"resource": "a", "scope": "Cluster", "x": 1, "responseKind": None})
    assert found == {
        "resource": "a",
        "responseKind": KIND,
        "scope": "Cluster",
        "singularResource": "",
        "verbs": [],
    }
