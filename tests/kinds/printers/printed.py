"""Cells that a kube-apiserver printed, and how they are compared with the printers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.kinds.autoscaling.scale import SCALE
from kubetrio.kinds.builtin import registry
from kubetrio.schema import builtin
from kubetrio.schema.printing import Printer

Json = dict[str, Any]
DATA: Json = json.loads(Path(__file__).with_name("samples.json").read_text(encoding="utf-8"))
# kube-apiserver prints the age of an IPAddress without a column for it.
EXTRA_CELLS = {"ipaddresses": 1}


def _parts(resource: str) -> tuple[str, str, str]:
    group, version, plural = resource.split("/")
    return group, version, plural


def samples(group: str, *plurals: str) -> list[Any]:
    """Recorded objects of a group's kinds, as parameters of a test; of some kinds, or of all."""
    return [
        pytest.param(sample, id=f"{sample['resource']}-{sample['object']['metadata']['name']}")
        for sample in DATA["samples"]
        if _parts(sample["resource"])[0] == group
        and (not plurals or _parts(sample["resource"])[2] in plurals)
    ]


def tables(group: str, *plurals: str) -> list[str]:
    """Resources of a group that have columns; some of them, or all."""
    return [
        resource
        for resource in builtin.load("tables")
        if _parts(resource)[0] == group and (not plurals or _parts(resource)[2] in plurals)
    ]


def printer_of(resource: str) -> Printer:
    """The printer of a resource in any of its versions."""
    group, version, plural = _parts(resource)
    kind = registry().get(group, version, plural)
    if kind is None and plural == "scale":
        kind = SCALE
    if kind is None:
        kind = next(
            one
            for one in registry().resources.values()
            if (one.group, one.resource) == (group, plural)
        )
    return kind.printer


def assert_printed(sample: Json) -> None:
    """The cells are the recorded ones; they are made of the object as it is stored."""
    resource = registry().get(*_parts(sample["resource"]))
    obj = sample["object"]
    if resource is not None:
        obj = resource.to_stored(obj)
    cells = printer_of(sample["resource"]).cells(obj, DATA["now"])
    assert cells == sample["cells"]
    assert [type(cell) for cell in cells] == [type(cell) for cell in sample["cells"]]


def assert_prints_empty(resource: str) -> None:
    """A bookmark, which has a version only, prints one cell for each column."""
    columns = printer_of(resource).columns
    cells = printer_of(resource).cells({"metadata": {"resourceVersion": "7"}}, DATA["now"])
    assert len(cells) == len(columns) + EXTRA_CELLS.get(_parts(resource)[2], 0)
