"""Go structs of a pod template, from source."""

from pathlib import Path

import pytest
from trees import plant

from facts.go_structs import pod_template
from kubetrio.schema import builtin


def test_fields_are_in_order_and_types_qualified(tmp_path: Path) -> None:
    """Those that the template reaches, and no others."""
    found = pod_template(plant(tmp_path))
    assert found["v1.PodTemplateSpec"] == [
        ["ObjectMeta", "metadata", "v1.ObjectMeta"], ["Spec", "spec", "v1.PodSpec"],
    ]  # fmt: skip
    assert found["v1.PodSpec"] == [
        ["Volumes", "volumes", "[]v1.Volume"],
        ["Limits", "limits", "v1.ResourceList"],
        ["Grace", "grace", "*int64"],
    ]
    assert found["v1.Volume"] == [["VolumeSource", "", "v1.VolumeSource"]]
    assert found["v1.ResourceList"] == "map[v1.ResourceName]resource.Quantity"
    assert found["v1.ResourceName"] == "string"
    assert "v1.Other" not in found


def test_a_type_that_is_declared_nowhere_is_told(tmp_path: Path) -> None:
    """Nothing is made up."""
    source = plant(tmp_path)
    path = source / "staging/src/k8s.io/api/core/v1/types.go"
    path.write_text(path.read_text().replace("[]Volume ", "[]Missing "))
    with pytest.raises(ValueError, match=r"v1\.Missing is not declared"):
        pod_template(source)


def test_every_type_of_the_facts_is_there() -> None:
    """What a struct names is declared, basic, or printed in a way of its own."""
    known = builtin.load("gostructs")
    assert len(known["v1.Container"]) > 20
    assert len(known) > 100
