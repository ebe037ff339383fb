"""Custom resources: columns and cells of a CustomResourceDefinition."""

from __future__ import annotations

import pytest

from kubetrio.kinds.common.customcolumns import custom_printer, custom_row

NOW = 1_000_000.0
CREATED = "1970-01-12T13:46:40Z"  # NOW


def column(name, kind, path, **more):
    return {"name": name, "type": kind, "jsonPath": path, **more}


COLUMNS = [
    column("Str", "string", ".spec.s"),
    column("Int", "integer", ".spec.i"),
    column("Num", "number", ".spec.n"),
    column("Bool", "boolean", ".spec.b"),
    column("Date", "date", ".spec.d"),
    column("List", "string", ".spec.l[*].x"),
    column("Obj", "string", ".spec.o"),
    column("Wide", "string", ".spec.s", priority=1),
    column("Fmt", "string", ".spec.s", format="byte"),
    column("Age", "date", ".metadata.creationTimestamp"),
]
FULL = {
    "s": "x",
    "i": 7,
    "n": 1.5,
    "b": False,
    "d": "1970-01-11T07:46:35Z",
    "l": [{"x": "1"}, {"x": "2"}],
    "o": {"k": 1, "j": "v"},
}
WRONG = {"s": 5, "i": "notint", "b": "notbool", "d": "notdate", "n": "x"}


def obj(name, spec):
    return {"metadata": {"name": name, "creationTimestamp": CREATED}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "spec", "cells"),
    [
        ("empty", {}, [None] * 9),
        ("full", FULL, ["x", 7, 1.5, False, "30h", "1", '{"j":"v","k":1}', "x", "x"]),
        ("wrongtypes", WRONG, ["5", None, None, None, "<invalid>", None, None, "5", "5"]),
    ],
)
def test_observed_rows(name, spec, cells):
    """The rows a real kube-apiserver printed."""
    assert custom_row(obj(name, spec), COLUMNS, NOW) == [name, *cells, "0s"]


def test_default_columns():
    """Without columns there are the name and the age."""
    printer = custom_printer(None)
    assert [(each.name, each.type, each.format) for each in printer.columns] == [
        ("Name", "string", "name"),
        ("Age", "date", ""),
    ]
    assert printer.cells(obj("a", {}), NOW) == ["a", "0s"]


def test_column_definitions():
    """Name first, then the columns with their format, priority and a description."""
    wide = custom_printer(COLUMNS).columns[8].as_dict()
    assert wide == {
        "name": "Wide",
        "type": "string",
        "format": "",
        "description": "Custom resource definition column (in JSONPath format): .spec.s",
        "priority": 1,
    }


def test_columns_end_at_a_bad_path():
    """A path that does not parse ends the columns."""
    bad = [column("A", "string", ".a"), column("B", "string", ".b["), column("C", "string", ".c")]
    assert [each.name for each in custom_printer(bad).columns] == ["Name", "A"]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", None, "<no value>"),
        ("string", True, "true"),
        ("string", 1.5, "1.5"),
        ("string", 0.0, "0"),
        ("string", 100000.0, "100000"),
        ("string", 1234567.5, "1.2345675e+06"),
        ("string", 0.00001, "1e-05"),
        ("string", [1, 2.0, "<é>"], '[1,2,"\\u003cé\\u003e"]'),
        ("integer", 2.9, 2),
        ("integer", True, None),
        ("number", 7, 7),
        ("number", 7.0, 7),
        ("number", False, None),
        ("boolean", 1, None),
        ("date", "", "<unknown>"),
        ("date", 5, None),
        ("date", "1970-01-12", "<invalid>"),
        ("date", "1970-13-12T13:46:40Z", "<invalid>"),
        ("date", CREATED, "0s"),
        ("other", "x", None),
    ],
)
def test_cell(kind, value, cell):
    """A cell has the type of its column or is null."""
    printed = custom_row(obj("a", {"v": value}), [column("V", kind, ".spec.v")], NOW)[1]
    assert (printed, type(printed)) == (cell, type(cell))


def test_impossible_path_is_null():
    """A path that does not fit an object leaves the cell empty."""
    assert custom_row(obj("a", {}), [column("V", "string", ".spec[0]")], NOW) == ["a", None]
