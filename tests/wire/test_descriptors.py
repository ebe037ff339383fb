"""Facts about types and the classes made of them."""

import pytest

from kubetrio.schema import builtin
from kubetrio.wire.descriptors import Descriptors, message_name

POD = "k8s.io.api.core.v1.Pod"


def test_message_name() -> None:
    """Schema names and protobuf names both lead to the protobuf name."""
    crd = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    schema = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    assert message_name(schema) == message_name(crd) == crd


def test_field_of_a_pointer() -> None:
    """A pointer is no value, so its presence counts."""
    fields = {f.json: f for f in Descriptors(builtin.message).fields("k8s.io.api.core.v1.Secret")}
    assert not fields["immutable"].value
    assert fields["metadata"].value
    assert fields["data"].map
    assert fields["data"].type == "bytes"


def test_slice_type() -> None:
    """Named lists are told from objects with a list."""
    descriptors = Descriptors(builtin.message)
    assert descriptors.slice_type("k8s.io.api.authentication.v1.ExtraValue") == "string"
    assert descriptors.slice_type("k8s.io.api.core.v1.PodList") == ""


def test_only_the_closure_is_made() -> None:
    """A small type does not pull in the rest of its package."""
    asked = []

    def rows(name: str) -> list:
        asked.append(name)
        return builtin.message(name)

    Descriptors(rows).message_class("k8s.io.api.core.v1.ConfigMap")
    assert POD not in asked
    assert len(set(asked)) < 12


def test_second_type_builds_on_the_first() -> None:
    """Classes made in either order fit together, recursion included."""
    descriptors = Descriptors(builtin.message)
    pod = descriptors.message_class(POD)()
    listed = descriptors.message_class(f"{POD}List")()
    listed.items.add().CopyFrom(pod)
    assert len(listed.items) == 1


def test_unknown_message() -> None:
    """A type that does not exist is a KeyError."""
    with pytest.raises(KeyError):
        Descriptors(builtin.message).message_class("k8s.io.api.core.v1.Nope")


@pytest.mark.parametrize(
    ("type_name", "shape"),
    [
        ("k8s.io.api.core.v1.Secret", {"data": {"*": True}}),
        ("k8s.io.api.core.v1.ConfigMap", {"binaryData": {"*": True}}),
        ("k8s.io.api.core.v1.SecretList", {"items": {"data": {"*": True}}}),
        (POD, {}),
    ],
)
def test_binary_shape(type_name: str, shape: dict) -> None:
    """Bytes are found in maps and lists; embedded JSON is none."""
    assert Descriptors(builtin.message).binary_shape(type_name) == shape
