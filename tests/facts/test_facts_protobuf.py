"""Messages of ``generated.proto``."""

from pathlib import Path

import pytest

from facts import struct_tags
from facts.protobuf import all_messages, messages

PROTO = """
syntax = "proto2";
package k8s.io.api.core.v1;

// Thing { optional string commented = 9; }
message Thing {
  // a name
  optional string name = 1;
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.Time time = 3;
  repeated Other others = 2;
  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> limits = 4;
  optional Other old = 6;
  reserved 5;
}

message Verbs {
  repeated string items = 1;
}
"""
GO = """
type Thing struct {
\tName string `json:"name" protobuf:"bytes,1,opt,name=name"`
\tTime *metav1.Time `json:"time,omitempty" protobuf:"bytes,3,opt,name=time"`
\tOthers []Other `json:"others,omitempty" protobuf:"bytes,2,rep,name=others"`
\tLimits ResourceList `json:"limits,omitempty" protobuf:"bytes,4,rep,name=limits"`
\tOld Other `json:"previous" protobuf:"bytes,6,opt,name=old"`
}

type Verbs []string
"""


def test_rows_of_a_message() -> None:
    """In the order of the file, with full names; a JSON name only if it is another one."""
    found = messages(PROTO, struct_tags.package([GO]))
    assert found["k8s.io.api.core.v1.Thing"] == {
        "fields": [
            [1, "name", "string", "opt", "v"],
            [3, "time", "k8s.io.apimachinery.pkg.apis.meta.v1.Time", "opt", "pe"],
            [2, "others", "k8s.io.api.core.v1.Other", "rep", "e"],
            [4, "limits", "map<string,k8s.io.apimachinery.pkg.api.resource.Quantity>", "map", "e"],
            [6, "old", "k8s.io.api.core.v1.Other", "opt", "v", "previous"],
        ]
    }


def test_a_message_that_stands_for_a_slice() -> None:
    """It says so: JSON has an array where protobuf has a message with one field."""
    assert messages(PROTO, struct_tags.package([GO]))["k8s.io.api.core.v1.Verbs"] == {
        "slice": 1,
        "goType": "[]string",
        "fields": [[1, "items", "string", "rep", "?"]],
    }


def test_a_file_without_package() -> None:
    """Names could not be made."""
    with pytest.raises(ValueError, match="no package"):
        messages("message A {}", struct_tags.package([]))


def test_packages_that_no_client_sends_are_left_out(tmp_path: Path) -> None:
    """The rest of a tree is sorted by name."""
    for name in ("core", "apps", "imagepolicy"):
        folder = tmp_path / "staging/src/k8s.io/api" / name / "v1"
        folder.mkdir(parents=True)
        text = f"package k8s.io.api.{name}.v1;\nmessage A {{\n  optional bool b = 1;\n}}\n"
        (folder / "generated.proto").write_text(text)
    assert list(all_messages(tmp_path)) == ["k8s.io.api.apps.v1.A", "k8s.io.api.core.v1.A"]
