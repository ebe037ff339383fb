"""Cells of volumes and claims on them."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.core.printers import storage as core_storage

NOW = 1_000.0


def test_bound_claim():
    """A claim with a volume shows what it got, modes in a fixed order, each once."""
    modes = ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"]
    claim = {
        "metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"volumeName": "v", "storageClassName": "c", "volumeAttributesClassName": "a"},
        "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": modes},
    }
    printed = core_storage.persistent_volume_claim(claim, NOW)[1:7]
    assert printed == ["Terminating", "v", "2Gi", "RWO,RWX", "c", "a"]


def test_class_annotation_wins():
    """The annotation of old names the class even if the field does too."""
    volume = {
        "metadata": {"annotations": {core_storage.CLASS_ANNOTATION: "old"}},
        "spec": {"storageClassName": "new"},
    }
    assert core_storage.persistent_volume(volume, NOW)[6] == "old"


@pytest.mark.parametrize("sample", samples("", "persistentvolumeclaims", "persistentvolumes"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("", "persistentvolumeclaims", "persistentvolumes"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
