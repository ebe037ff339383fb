"""Snapshots of what is served, and who is told when they change."""

from __future__ import annotations

from dataclasses import replace

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry, Registry, gone
from kubetrio.testing.widgets import widgets


def in_version(version: str, group: str = "example.com") -> Kind:
    return replace(widgets(group)[0], version=version)


def test_versions_are_listed_by_their_stability() -> None:
    """However they come: stable ones first, newer before older, unusual names last."""
    names = ["v1alpha1", "v2beta1", "next", "v1", "v2beta2", "v10", "v2"]
    made = registry().with_resources(in_version(name) for name in names)
    expected = ("v10", "v2", "v1", "v2beta2", "v2beta1", "v1alpha1", "next")
    assert made.groups["example.com"] == expected


def test_new_groups_are_listed_by_name() -> None:
    """Behind those that are built in, whose order stays."""
    before = registry()
    made = before.with_resources(in_version("v1", group) for group in ("b.io", "a.io"))
    assert list(made.groups) == [*before.groups, "a.io", "b.io"]


def test_new_versions_go_behind_built_in_ones() -> None:
    """A definition in a built-in group does not change what is preferred there."""
    before = registry()
    made = before.with_resources([in_version("v9", "apps")])
    assert made.groups["apps"] == (*before.groups["apps"], "v9")


def test_what_a_change_took_away() -> None:
    """Kinds that are no longer there, and those that another value took the place of."""
    kept, removed, replaced = widgets("a.io")[0], widgets("b.io")[0], widgets("c.io")[0]
    before = Registry(groups={}, resources={}).with_resources([kept, removed, replaced])
    after = before.without([removed]).with_resources(widgets("c.io")[:1])
    assert gone(before, after) == [removed, replaced]
    assert gone(after, after) == []


def test_a_resource_without_its_version() -> None:
    """Is found in the version that came first."""
    stored, older = widgets()
    made = LiveRegistry(registry().with_resources([stored, older]))
    assert made.by_group_resource[GroupResource("example.com", "widgets")] is stored


def test_groups_that_are_built_in() -> None:
    """Are told from those that came."""
    made = LiveRegistry(registry().with_resources(widgets()))
    assert made.is_builtin("apps")
    assert not made.is_builtin("example.com")
    assert not made.is_builtin("nobody.example.com")


def test_subscribers_see_both_snapshots() -> None:
    """The one before and the one after."""
    live = LiveRegistry(registry())
    seen: list[tuple[int, int]] = []
    live.subscribe(lambda old, new: seen.append((len(old.resources), len(new.resources))))
    kinds = widgets()
    live.add(kinds)
    live.remove(kinds)
    few = len(registry().resources)
    assert seen == [(few, few + 2), (few + 2, few)]


def test_one_kind_of_each_resource() -> None:
    """In the first version of its group that has it, if it serves the verbs."""
    made = registry().with_resources(widgets())
    found = {kind.group_resource: kind for kind in made.preferred("delete", "list")}
    assert found[GroupResource("autoscaling", "horizontalpodautoscalers")].version == "v2"
    assert found[GroupResource("example.com", "widgets")].version == "v1"
    assert GroupResource("", "bindings") not in found
    assert GroupResource("", "events") in found
    assert GroupResource("events.k8s.io", "events") in found
