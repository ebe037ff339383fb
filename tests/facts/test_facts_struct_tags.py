"""Tags of Go structs."""

import pytest

from facts.struct_tags import Field, package

SOURCE = """
// Thing is a thing.
type Thing struct {
\tmetav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
\tCommon            `json:",inline" protobuf:"bytes,2,req,name=common"`
\t// Count counts.
\tCount *int32 `json:"count,omitempty" protobuf:"varint,3,opt,name=count"`
\tRaw []byte `json:"-" protobuf:"bytes,4,opt,name=raw"`
\tuntagged string
}

type Verbs []string
"""


def test_fields_are_found_by_number() -> None:
    """Fields without a tag are nobody's business."""
    fields = package([SOURCE]).structs["Thing"]
    assert fields[3] == Field("*int32", False, "count", frozenset({"omitempty"}))
    assert (fields[1].embedded, fields[1].json_name) == (True, "metadata")
    assert (fields[2].json_name, fields[4].json_name) == ("", "-")
    assert sorted(fields) == [1, 2, 3, 4]


def test_a_named_slice_is_a_type_of_its_own() -> None:
    """protobuf has a message for it."""
    assert package([SOURCE]).slices == {"Verbs": "[]string"}


def test_the_build_with_tags_counts() -> None:
    """A type may be in two files, one of them without tags."""
    other = "type Thing struct {\n\thandle string\n}\n"
    assert package([SOURCE, other]) == package([other, SOURCE]) == package([SOURCE])


@pytest.mark.parametrize(
    ("go_type", "options", "embedded", "repeated", "flags"),
    [
        ("string", {"omitempty"}, False, False, "ve"),
        ("*int32", {"omitempty"}, False, False, "pe"),
        ("metav1.Time", {"omitempty", "omitzero"}, False, False, "vez"),
        ("Common", {"inline"}, True, False, "viE"),
        ("[]byte", set(), False, False, "b"),
        ("[]string", {"omitempty"}, False, True, "e"),
        ("[]*Thing", set(), False, True, "P"),
        ("map[string]string", set(), False, True, ""),
    ],
)
def test_flags(go_type: str, options: set[str], embedded: bool, repeated: bool, flags: str) -> None:
    """What a field is written as is told by its Go type and tags."""
    field = Field(go_type, embedded, "x", frozenset(options))
    assert field.flags(repeated=repeated) == flags
