"""Shapes join schemas and protobuf rows into Go structs."""

from __future__ import annotations

from kubetrio.schema.structural_gonames import LIST_TYPES, SCALAR_TYPES
from kubetrio.schema.structural_shapes import ShapeKind, struct

CORE = "io.k8s.api.core.v1."


def test_members_of_embedded_structs_are_lifted() -> None:
    """A volume has the members of its source, in the place of the embedding."""
    names = list(struct(f"{CORE}Volume").fields)
    assert names[:3] == ["name", "hostPath", "emptyDir"]


def test_type_meta_comes_first() -> None:
    """ShapeKind and apiVersion are no part of messages, and lead."""
    names = ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(struct(f"{CORE}Pod").fields) == names


def test_messages_with_a_dash_in_their_package() -> None:
    """CustomResourceDefinitions have rows too: their members are in the order of the struct."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec"
    assert list(struct(name).fields)[:3] == ["group", "names", "scope"]


def test_omitempty_means_nothing_for_structs() -> None:
    """Only omitzero leaves a struct out."""
    meta = struct("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").fields
    assert meta["creationTimestamp"].omit
    assert not struct(f"{CORE}Pod").fields["metadata"].omit
    assert not struct(f"{CORE}Container").fields["resources"].omit


def test_go_types_of_fields() -> None:
    """Named types of Go are in the package of their struct unless told otherwise."""
    spec = struct("io.k8s.api.apps.v1.StatefulSetSpec").fields
    assert spec["podManagementPolicy"].shape.go_type == "v1.PodManagementPolicyType"
    modes = struct(f"{CORE}PersistentVolumeClaimSpec").fields["accessModes"].shape
    assert modes.go_type == "[]v1.PersistentVolumeAccessMode"
    extra = struct("io.k8s.api.authorization.v1.SubjectAccessReviewSpec").fields["extra"].shape
    assert extra.kind is ShapeKind.MAP


def test_tables_of_go_names_are_sorted() -> None:
    """A table that is sorted has no second entry for a member."""
    for table in (SCALAR_TYPES, LIST_TYPES):
        assert list(table) == sorted(table)
