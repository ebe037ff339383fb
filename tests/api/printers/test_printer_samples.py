"""Every sample of a real kube-apiserver: object in, cells out."""

import json
from pathlib import Path

import pytest

from kubetrio.api import printers, tables
from kubetrio.schema import builtin
from kubetrio.schema.convert import convert

DATA = json.loads(Path(__file__).with_name("samples.json").read_text(encoding="utf-8"))
# kube-apiserver prints the age of an IPAddress without a column for it.
EXTRA_CELLS = {"ipaddresses": 1}


def key_of(resource):
    return tuple(resource.split("/"))


@pytest.mark.parametrize(
    "sample",
    DATA["samples"],
    ids=lambda sample: f"{sample['resource']}-{sample['object']['metadata']['name']}",
)
def test_sample(sample):
    """The cells are those the real server printed; they are made of the object as it is stored."""
    resource = builtin.registry().get(*key_of(sample["resource"]))
    obj = sample["object"]
    if resource is not None and resource.stored_as != resource.group_version:
        obj = convert(obj, resource.group_version, resource.stored_as)
    printed = tables.row(obj, key_of(sample["resource"]), DATA["now"])
    assert printed == sample["cells"]
    assert [type(cell) for cell in printed] == [type(cell) for cell in sample["cells"]]


@pytest.mark.parametrize("resource", builtin.load("tables"))
def test_empty_object_prints(resource):
    """A bookmark, which has a version only, prints one cell a column."""
    columns = tables.columns(*key_of(resource))
    cells = tables.row({"metadata": {"resourceVersion": "7"}}, key_of(resource), DATA["now"])
    assert len(cells) == len(columns) + EXTRA_CELLS.get(key_of(resource)[2], 0)


@pytest.mark.parametrize("resource", builtin.load("tables"))
def test_every_column_has_a_printer(resource):
    """Columns other than the default ones come with cells of their own, and the reverse."""
    group, version, plural = key_of(resource)
    default = tables.printer(group, version, plural).default
    assert default != ((group, plural) in printers.CELLS)
