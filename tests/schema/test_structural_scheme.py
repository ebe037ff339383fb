"""Schemes of the three servers inside kube-apiserver."""

from __future__ import annotations

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire.report import Report


def test_every_body_of_a_served_path_is_known() -> None:
    """All resources and subresources can be decoded by their server's scheme."""
    for resource in registry().resources.values():
        scheme = scheme_of(resource.group)
        assert scheme.knows(resource.group_version_kind), resource.kind


@pytest.mark.parametrize(
    ("group", "kind", "names"),
    [
        ("", "Secret", ("v1.Secret", "core.Secret")),
        ("rbac.authorization.k8s.io", "Role", ("v1.Role", "rbac.Role")),
        ("events.k8s.io", "Event", ("v1.Event", "core.Event")),
        ("policy", "Eviction", ("v1.Eviction", "policy.Eviction")),
    ],
)
def test_go_names(group: str, kind: str, names: tuple[str, str]) -> None:
    """Packages of versioned types are versions, those of internal types groups."""
    assert scheme_of(group).go_names(GroupVersionKind(group, "v1", kind)) == names


def test_kinds_of_another_server_are_unknown() -> None:
    """Each scheme knows its own groups only."""
    crd = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert scheme_of(crd.group).knows(crd)
    assert not scheme_of("apps").knows(crd)
    assert not scheme_of(crd.group).knows(GroupVersionKind("", "v1", "Pod"))
    assert not scheme_of("").knows(GroupVersionKind("no.such.group", "v1", "DeleteOptions"))


def test_decoding_appends_to_the_messages() -> None:
    """Messages about fields go to the report that is given."""
    report = Report()
    pod = GroupVersionKind("", "v1", "Pod")
    value = scheme_of("").decode(pod, {"zork": 1}, report, {})
    assert value["spec"] == {"containers": None}
    assert report.strict == ['unknown field "zork"']
