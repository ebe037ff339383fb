"""Every sample of a real kube-apiserver: object in, cells out."""

import json
from pathlib import Path

import pytest

from kubetrio.kinds.autoscaling.scale import SCALE
from kubetrio.kinds.builtin import registry
from kubetrio.schema import builtin
from kubetrio.schema.printing import PLAIN

DATA = json.loads(Path(__file__).with_name("samples.json").read_text(encoding="utf-8"))
# kube-apiserver prints the age of an IPAddress without a column for it.
EXTRA_CELLS = {"ipaddresses": 1}


def key_of(resource):
    return tuple(resource.split("/"))


def printer_of(resource):
    """The printer of a resource in any of its versions."""
    group, version, plural = key_of(resource)
    found = registry().get(group, version, plural)
    if found is None and plural == "scale":
        found = SCALE
    if found is None:
        found = next(
            kind
            for kind in registry().resources.values()
            if (kind.group, kind.resource) == (group, plural)
        )
    return found.printer


@pytest.mark.parametrize(
    "sample",
    DATA["samples"],
    ids=lambda sample: f"{sample['resource']}-{sample['object']['metadata']['name']}",
)
def test_sample(sample):
    """The cells are those the real server printed; they are made of the object as it is stored."""
    resource = registry().get(*key_of(sample["resource"]))
    obj = sample["object"]
    if resource is not None:
        obj = resource.to_stored(obj)
    printed = printer_of(sample["resource"]).cells(obj, DATA["now"])
    assert printed == sample["cells"]
    assert [type(cell) for cell in printed] == [type(cell) for cell in sample["cells"]]


@pytest.mark.parametrize("resource", builtin.load("tables"))
def test_empty_object_prints(resource):
    """A bookmark, which has a version only, prints one cell a column."""
    columns = printer_of(resource).columns
    cells = printer_of(resource).cells({"metadata": {"resourceVersion": "7"}}, DATA["now"])
    assert len(cells) == len(columns) + EXTRA_CELLS.get(key_of(resource)[2], 0)


@pytest.mark.parametrize("resource", builtin.load("tables"))
def test_every_column_has_a_printer(resource):
    """Columns other than the default ones come with cells of their own, and the reverse."""
    printer = printer_of(resource)
    assert printer.default == (printer.cells is PLAIN.cells)
