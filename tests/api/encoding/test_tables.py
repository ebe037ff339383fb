"""The Table of meta.k8s.io."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.api.encoding import tables
from kubetrio.kinds.autoscaling.scale import SCALE
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.customcolumns import custom_printer
from kubetrio.machinery.status import ApiError
from kubetrio.schema import builtin

NOW = 1_000.0


def printer_of(key):
    """The printer of a resource by its ``group/version/plural``."""
    if key == "autoscaling/v1/scale":
        return SCALE.printer
    return registry().resources[tuple(key.split("/"))].printer


SECRETS = registry().get("", "v1", "secrets")
PODS = registry().get("", "v1", "pods")
SECRET = {
    "kind": "Secret",
    "apiVersion": "v1",
    "metadata": {
        "name": "a",
        "resourceVersion": "5",
        "creationTimestamp": "1970-01-01T00:16:30Z",
        "labels": {"a": "b"},
    },
    "data": {"k": "eA=="},
    "type": "Opaque",
}
CELLS = ["a", "Opaque", 1, "10s"]


def column(name, description, kind="string", form="", priority=0):
    return {
        "name": name,
        "type": kind,
        "format": form,
        "description": description,
        "priority": priority,
    }


def test_whole_table():
    """One object: its version, the columns, and its metadata in the row."""
    assert tables.table([SECRET], SECRETS, now=NOW) == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "5"},
        "columnDefinitions": [
            column("Name", "Name of the object.", form="name"),
            column("Type", "What kind of secret it is."),
            column("Data", "Number of entries."),
            column("Age", "Time since the object was created."),
        ],
        "rows": [
            {
                "cells": CELLS,
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": SECRET["metadata"],
                },
            }
        ],
    }


@pytest.mark.parametrize("key", [*builtin.load("tables"), "autoscaling/v1/scale"])
def test_every_column_is_described(key):
    """In one short sentence, of every resource, and where there are only the default columns."""
    for each in printer_of(key).columns:
        assert each.description.endswith("."), each.name
        assert "." not in each.description[:-1]
        assert len(each.description) < 80


def test_descriptions_are_of_columns_that_there_are():
    """No resource and no column is described that is not printed."""
    printed = {}
    for key in [*builtin.load("tables"), "autoscaling/v1/scale"]:
        group, _, resource = key.split("/")
        printed[group, resource] = {each.name for each in printer_of(key).columns}
    every = set().union(*printed.values())
    for key, words in builtin.load("columns").items():
        group, _, resource = key.rpartition("/")
        assert words.keys() <= (every if key == "*" else printed[group, resource]), key


def test_key_order():
    """Members come in the order in which kube-apiserver writes them."""
    pod = {"metadata": {}, "status": {"phase": "Failed"}}
    printed = tables.table([pod], PODS, now=NOW)
    assert list(printed) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert list(printed["rows"][0]) == ["cells", "conditions", "object"]
    keys = ["name", "type", "format", "description", "priority"]
    assert list(printed["columnDefinitions"][0]) == keys


@pytest.mark.parametrize(("include", "kind"), [("None", None), ("Object", SECRET)])
def test_include_object(include, kind):
    """Rows carry the whole object, or null."""
    printed = tables.table([SECRET], SECRETS, include_object=include, now=NOW)
    assert printed["rows"] == [{"cells": CELLS, "object": kind}]


def test_v1beta1():
    """The older version names itself in the table and in the rows."""
    printed = tables.table([SECRET], SECRETS, table_version="v1beta1", now=NOW)
    versions = [printed["apiVersion"], printed["rows"][0]["object"]["apiVersion"]]
    assert versions == ["meta.k8s.io/v1beta1"] * 2


def test_later_watch_event():
    """Columns are null from the second event of a watch on."""
    assert tables.table([SECRET], SECRETS, now=NOW, with_columns=False)["columnDefinitions"] is None


def test_bookmark():
    """A bookmark is a table with one row of the zero value, and carries its annotations."""
    metadata = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    bookmark = {"kind": "Secret", "apiVersion": "v1", "metadata": metadata}
    printed = tables.table([bookmark], SECRETS, now=NOW, with_columns=False)
    assert printed["metadata"] == {"resourceVersion": "9"}
    assert printed["rows"][0]["cells"] == ["", "", 0, "<unknown>"]
    assert printed["rows"][0]["object"]["metadata"] == metadata


def test_list_metadata():
    """A list gives its version and where to go on, and nothing else."""
    meta = {"resourceVersion": "9", "continue": "t", "remainingItemCount": 3, "selfLink": "x"}
    printed = tables.table([SECRET, SECRET], SECRETS, list_meta=meta, now=NOW)
    assert printed["metadata"] == {
        "resourceVersion": "9",
        "continue": "t",
        "remainingItemCount": 3,
    }


def test_empty_list():
    """No objects are no rows."""
    printed = tables.table([], SECRETS, list_meta={"resourceVersion": "9"}, now=NOW)
    assert (printed["rows"], printed["metadata"]) == ([], {"resourceVersion": "9"})


def test_completed_pod():
    """A pod that has ended is marked in its row."""
    pod = {"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}
    printed = tables.table([pod], PODS, include_object="None", now=NOW)
    assert printed["rows"][0]["conditions"] == [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from("abc"))))
def test_flow_schemas_are_sorted(pairs):
    """Flow schemas come in matching order, whatever the order of the list."""
    objects = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for precedence, name in pairs
    ]
    key = "flowcontrol.apiserver.k8s.io/v1/flowschemas"
    printed = tables.table(objects, printer_of(key), list_meta={}, now=NOW)
    order = [(line["cells"][2], line["cells"][0]) for line in printed["rows"]]
    assert order == sorted(pairs)


@pytest.mark.parametrize(
    ("group", "version", "resource", "names"),
    [
        ("", "v1", "limitranges", ["Name", "Created At"]),
        ("autoscaling", "v1", "scale", ["Name", "Desired", "Available", "Age"]),
        ("resource.k8s.io", "v1", "resourceclaims", ["Name", "State", "Age"]),
    ],
)
def test_columns(group, version, resource, names):
    """Columns by resource in any version, with a default."""
    assert [each.name for each in printer_of(f"{group}/{version}/{resource}").columns] == names


def test_default_row():
    """The default row has a time, the zero one if there is none."""
    row = printer_of("/v1/limitranges").cells
    assert row(SECRET, NOW) == ["a", "1970-01-01T00:16:30Z"]
    assert row({"metadata": {}}, NOW) == ["", "0001-01-01T00:00:00Z"]


@pytest.mark.parametrize(
    ("parameter", "include"),
    [("", "Metadata"), ("None", "None"), ("Metadata", "Metadata"), ("Object", "Object")],
)
def test_include_object_parameter(parameter, include):
    """The query parameter, metadata by default."""
    assert tables.include_object_of(parameter) == include


def test_include_object_refused():
    """Anything else is refused in the words of kube-apiserver."""
    with pytest.raises(ApiError) as caught:
        tables.include_object_of("Bogus")
    assert caught.value.status()["code"] == 400
    assert caught.value.status()["message"] == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


TEMPLATE = "deprecated.daemonset.template.generation"
ROLLBACK = "deprecated.deployment.rollback.to"


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("apps/v1/daemonsets", ["a", ROLLBACK]),
        ("apps/v1/deployments", ["a", TEMPLATE]),
        ("/v1/configmaps", ["a", ROLLBACK, TEMPLATE]),
    ],
)
def test_annotations_that_stand_for_fields(key, shown):
    """Metadata alone is that of the internal object, where some annotations are fields."""
    metadata = {"name": "d", "annotations": {"a": "b", TEMPLATE: "1", ROLLBACK: "2"}}
    obj, printer = {"metadata": metadata}, printer_of(key)
    partial = tables.partial_object(obj, hidden=printer.hidden)
    assert sorted(partial["metadata"]["annotations"]) == sorted(shown)
    printed = tables.table([obj], printer, now=NOW)["rows"][0]["object"]["metadata"]
    assert sorted(printed["annotations"]) == sorted(shown)
    whole = tables.table([obj], printer, include_object="Object", now=NOW)["rows"][0]["object"]
    assert whole == obj


def test_no_annotations_are_left():
    """There is no empty map."""
    metadata = {"name": "d", "annotations": {TEMPLATE: "1"}, "labels": {}}
    partial = tables.partial_object({"metadata": metadata}, hidden=TEMPLATE)
    assert partial["metadata"] == {"name": "d", "labels": {}}


def test_custom_resource():
    """A custom resource is printed by the printer of its columns."""
    printer = custom_printer([{"name": "K", "type": "string", "jsonPath": ".data.k"}])
    printed = tables.table([SECRET], printer, now=NOW)
    assert printed["rows"][0]["cells"] == ["a", "eA=="]
