"""What is wrong with an object, by the rules of its kind and of metadata."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.resources.validation import (
    metadata_of_change,
    validate_create,
    validate_update,
    warnings,
    with_metadata_of_new,
)

from .world import CONFIGMAPS, RESOURCES, configmap

PODS = RESOURCES["", "v1", "pods"]


def pod(*, privileged: bool) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        "securityContext": {"privileged": privileged},
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
    }
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize(("allowed", "messages"), [(True, []), (False, ["by cluster policy"])])
def test_privileged_containers_are_allowed_by_configuration(
    allowed: bool, messages: list[str]
) -> None:
    """Nothing else of what is wrong goes with that."""
    causes = validate_create(PODS, pod(privileged=True), allow_privileged=allowed)
    assert len(causes) == len(messages)
    assert all(part in cause.message for part, cause in zip(messages, causes, strict=True))
    assert validate_create(PODS, pod(privileged=False)) == []


def test_metadata_of_a_new_object_come_first() -> None:
    """In front of what the kind finds."""
    own = validate_create(CONFIGMAPS, {**configmap({"a b": ""}), "binaryData": {}})
    causes = with_metadata_of_new(CONFIGMAPS, configmap(name="A", namespace="ns"), own)
    assert [cause.field for cause in causes] == ["metadata.name", "data[a b]"]


def test_an_immutable_object_keeps_its_data() -> None:
    """The change is what is wrong, and not the object."""
    old = {**configmap({"a": "1"}), "immutable": True}
    assert validate_update(CONFIGMAPS, old, old) == []
    causes = validate_update(CONFIGMAPS, {**old, "data": {"a": "2"}}, old)
    assert [cause.field for cause in causes] == ["data"]


def test_names_do_not_change() -> None:
    """In metadata of an update."""
    old = configmap(namespace="ns", uid="u", resourceVersion="1")
    assert metadata_of_change(CONFIGMAPS, old, old) == []
    new = {**old, "metadata": {**old["metadata"], "name": "m"}}
    assert {cause.field for cause in metadata_of_change(CONFIGMAPS, new, old)} == {"metadata.name"}


def test_a_kind_without_warnings_warns_of_nothing() -> None:
    """Nor does a subresource of it."""
    assert warnings(CONFIGMAPS, configmap(), None) == []
    assert warnings(PODS, pod(privileged=False), None, "status") == []
