"""Merge types from schemas."""

import pytest

from kubetrio.machinery.typeschema import DEDUCED, OPAQUE, TypeKind
from kubetrio.schema import patchmeta

POD = patchmeta.for_type("io.k8s.api.core.v1.Pod")
SPEC = POD.fields["spec"]


def test_lists_with_keys():
    """Containers are known by name; ports by port and protocol, which has a default."""
    containers = SPEC.fields["containers"]
    assert (containers.list_type, containers.keys) == ("map", ("name",))
    assert containers.patch_merge_key == "name"
    assert containers.patch_strategy == {"merge"}
    ports = containers.element.fields["ports"]
    assert ports.keys == ("containerPort", "protocol")
    assert ports.key_defaults["protocol"] == "TCP"


def test_atomic_and_granular():
    """Tolerations and selectors are wholes; labels are not; finalizers are a set."""
    assert SPEC.fields["tolerations"].atomic
    labels = POD.fields["metadata"].fields["labels"]
    assert (labels.kind, labels.atomic, labels.element.scalar) == (TypeKind.MAP, False, "string")
    assert POD.fields["metadata"].fields["finalizers"].list_type == "set"
    selector = patchmeta.for_type("io.k8s.api.apps.v1.Deployment").fields["spec"].fields["selector"]
    assert selector.atomic


def test_a_reference_carries_its_own_strategy():
    """Volumes keep only the keys given, wherever the type is used elsewhere."""
    assert SPEC.fields["volumes"].patch_strategy == {"merge", "retainKeys"}
    deployment = patchmeta.for_type("io.k8s.api.apps.v1.Deployment")
    strategy = deployment.fields["spec"].fields["strategy"]
    assert strategy.patch_strategy == {"retainKeys"}
    assert "rollingUpdate" in strategy.fields


@pytest.mark.parametrize(
    ("schema", "scalar"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "byte"}, "string"),
        ({"type": "string", "format": "date-time"}, "untyped"),
        ({"type": "integer", "format": "int32"}, "numeric"),
        ({"type": "number"}, "numeric"),
        ({"type": "boolean"}, "boolean"),
        ({"x-kubernetes-int-or-string": True}, "untyped"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "untyped"),
        ({"$ref": "io.k8s.apimachinery.pkg.api.resource.Quantity"}, "untyped"),
    ],
)
def test_scalars(schema, scalar):
    """Scalars by type; what has several, or a format with meaning, takes any."""
    found = patchmeta.from_schema(schema)
    assert (found.kind, found.scalar) == (TypeKind.SCALAR, scalar)


def test_free_form_objects():
    """Without members an object may have any, unless it says that it may not."""
    assert patchmeta.from_schema({"type": "object"}).member("x") is DEDUCED
    kept = {"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}
    assert patchmeta.from_schema(kept).member("x") is DEDUCED
    closed = {"type": "object", "properties": {"a": {}}}
    assert patchmeta.from_schema(closed).member("x") is None
    assert patchmeta.from_schema(closed).member("a") is DEDUCED
    shut = {"type": "object", "additionalProperties": False}
    assert patchmeta.from_schema(shut).member("x") is None


def test_patch_strategy_stands_in_for_a_list_type():
    """Without a list type, merging lists are lists with a key, or sets."""
    merge = {"type": "array", "items": {}, "x-kubernetes-patch-strategy": "merge"}
    keyed = {**merge, "x-kubernetes-patch-merge-key": "id"}
    assert patchmeta.from_schema(merge).list_type == "set"
    assert patchmeta.from_schema(keyed).keys == ("id",)
    assert patchmeta.from_schema({"type": "array", "items": {}}).atomic


def test_types_may_contain_themselves():
    """Parts are made when asked for, so recursion has no end but takes no time."""
    part = patchmeta.for_type(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    )
    for _ in range(5):
        part = part.fields["properties"].element
    assert part.fields["type"].scalar == "string"


def test_custom_resources_have_metadata():
    """The schema of a custom resource need not say what every object has."""
    custom = patchmeta.for_custom(
        {
            "type": "object",
            "properties": {"spec": {"type": "object"}, "metadata": {"type": "object"}},
        }
    )
    assert custom.fields["metadata"].fields["labels"].element.scalar == "string"
    assert custom.fields["kind"].scalar == "string"


def test_embedded_resources_have_metadata():
    """So do objects in objects that say they are."""
    found = patchmeta.from_schema(
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    )
    assert found.fields["metadata"].fields["finalizers"].list_type == "set"
    assert found.fields["kind"].scalar == "string"
    assert found.member("spec") is DEDUCED


def test_wrapped_references_are_followed():
    """A reference may be wrapped to carry a default, with the path to where schemas are."""
    found = patchmeta.from_schema(
        {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}], "default": {}}
    )
    assert "image" in found.fields


def test_empty_objects():
    """Before anything is set, Go prints what it never leaves out."""
    assert patchmeta.empty_object("io.k8s.api.core.v1.Pod") == {
        "metadata": {},
        "spec": {"containers": None},
        "status": {},
    }


def test_types_are_cached():
    """A built-in type is made once."""
    assert patchmeta.for_type("io.k8s.api.core.v1.Pod") is POD
    with pytest.raises(KeyError):
        patchmeta.for_type("io.k8s.api.core.v1.Nothing")


def test_a_raw_extension_is_a_whole():
    """Nothing in it is owned or merged one by one, whatever it holds."""
    data = patchmeta.for_type("io.k8s.api.apps.v1.ControllerRevision").fields["data"]
    assert (data.kind, data.atomic, data.member("a")) == (TypeKind.DEDUCED, True, OPAQUE)
