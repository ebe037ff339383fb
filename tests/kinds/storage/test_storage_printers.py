"""Cells of classes and drivers."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.storage import printers as storage

NOW = 1_000.0


@pytest.mark.parametrize("annotation", storage.DEFAULT_STORAGE_CLASS)
def test_default_class(annotation):
    """The default class is marked."""
    metadata = {"name": "c", "annotations": {annotation: "true"}}
    assert storage.storage_class({"metadata": metadata}, NOW)[0] == "c (default)"


def test_default_attributes_class():
    """So is the default attributes class."""
    metadata = {"name": "c", "annotations": {storage.DEFAULT_ATTRIBUTES_CLASS[0]: "true"}}
    assert storage.volume_attributes_class({"metadata": metadata}, NOW)[0] == "c (default)"


def test_csi_driver():
    """Audiences and modes are lists; switches that are not set have a default."""
    spec = {
        "attachRequired": False,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }
    assert storage.csi_driver({"spec": spec}, NOW)[1:7] == [
        False,
        False,
        False,
        "a,b",
        False,
        "Persistent,Ephemeral",
    ]


@pytest.mark.parametrize("sample", samples("storage.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("storage.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
