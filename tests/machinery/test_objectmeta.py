"""Validation of metadata."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import objectmeta as om
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain, path_segment

FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}
STORED: dict[str, Any] = {
    "name": "a",
    "namespace": "n",
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2024-01-01T00:00:00Z",
}


def create(meta: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    """Fields and messages of what is wrong with a namespaced object to be created."""
    options = {"namespaced": True, "name_check": dns1123_subdomain, **options}
    if options["namespaced"]:
        meta = {"namespace": "n", **meta}
    causes = om.validate_object_meta(meta, **options)
    return [(cause.field, cause.message) for cause in causes]


def update(changes: dict[str, Any], **old: Any) -> list[tuple[str, str]]:
    """Fields and messages of what is wrong with changes of a stored object."""
    stored = {**STORED, **old}
    causes = om.validate_object_meta_update({**stored, **changes}, stored)
    return [(cause.field, cause.message) for cause in causes]


def test_good_metadata_has_no_causes() -> None:
    """Everything that may be set can be set."""
    meta = {
        "name": "a",
        "labels": {"example.com/a": "b"},
        "annotations": {"Example.com/A": "anything at all"},
        "finalizers": ["example.com/f", "foregroundDeletion"],
        "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "controller": False}],
        "generation": 9,
    }
    assert create(meta) == []
    assert update({"labels": {"a": "b"}, "generation": 2}, generation=1) == []


def test_a_name_is_required() -> None:
    """Without a name there is one cause, whatever generateName said."""
    assert create({}) == [("metadata.name", "Required value: name or generateName is required")]


def test_a_bad_prefix_is_reported_with_the_bad_name() -> None:
    """generateName is checked as a prefix, the generated name as a name, in this order."""
    found = create({"generateName": "Bad_", "name": "Bad_x"})
    assert [field for field, _ in found] == ["metadata.generateName", "metadata.name"]
    assert found[0][1].startswith('Invalid value: "Bad_": a lowercase RFC 1123 subdomain must')
    assert create({"generateName": "gen-", "name": "gen-x"}) == []
    assert [field for field, _ in create({"generateName": "dot.", "name": "dot.x"})] == [
        "metadata.generateName"
    ]


def test_the_name_check_is_the_kinds() -> None:
    """Other kinds have other names."""
    assert create({"name": "a:B"}, name_check=path_segment) == []
    assert create({"name": "a.b"}, name_check=dns1123_label) == [
        ("metadata.name", 'Invalid value: "a.b": must not contain dots')
    ]


def test_namespaces() -> None:
    """A namespaced object has one, another has none."""
    assert create({"name": "a", "namespace": ""}) == [("metadata.namespace", "Required value")]
    assert create({"name": "a", "namespace": "a.b"}) == [
        ("metadata.namespace", 'Invalid value: "a.b": must not contain dots')
    ]
    assert create({"name": "a", "namespace": "n"}, namespaced=False) == [
        ("metadata.namespace", "Forbidden: not allowed on this type")
    ]
    assert create({"name": "a"}, namespaced=False) == []


def test_labels_name_the_key_or_the_value() -> None:
    """Both are reported at the map, the key first."""
    found = create({"name": "a", "labels": {"-k": "-v"}})
    assert [field for field, _ in found] == ["metadata.labels", "metadata.labels"]
    assert found[0][1].startswith('Invalid value: "-k": name part must consist of')
    assert found[1][1].startswith('Invalid value: "-v": a valid label must be')


def test_annotations_have_a_total_size() -> None:
    """Bytes of keys and values count together; the limit itself is allowed."""
    limit = om.ANNOTATIONS_MAX
    assert create({"name": "a", "annotations": {"k": "v" * (limit - 1)}}) == []
    assert create({"name": "a", "annotations": {"k": "v" * limit}}) == [
        ("metadata.annotations", "Too long: may not be more than 262144 bytes")
    ]
    assert create({"name": "a", "annotations": {"k": "ž" * (limit // 2)}}) == [
        ("metadata.annotations", "Too long: may not be more than 262144 bytes")
    ]


def test_owner_references_are_complete() -> None:
    """Every missing member is a cause."""
    assert create({"name": "a", "ownerReferences": [{"kind": "Pod"}]}) == [
        (
            "metadata.ownerReferences.apiVersion",
            'Invalid value: "": version must not be empty',
        ),
        ("metadata.ownerReferences.name", 'Invalid value: "": must not be empty'),
        ("metadata.ownerReferences.uid", 'Invalid value: "": must not be empty'),
    ]
    found = create({"name": "a", "ownerReferences": [{**OWNER, "apiVersion": "a/b/c", "kind": ""}]})
    assert found == [
        (
            "metadata.ownerReferences.apiVersion",
            'Invalid value: "a/b/c": version must not be empty',
        ),
        ("metadata.ownerReferences.kind", 'Invalid value: "": must not be empty'),
    ]


def test_events_own_nothing() -> None:
    """A core event cannot be an owner."""
    owner = {"uid": "u1", "name": "p", "kind": "Event", "apiVersion": "v1"}
    assert create({"name": "a", "ownerReferences": [owner]}) == [
        (
            "metadata.ownerReferences",
            (
                'Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u1"}: '
                "/v1, Kind=Event is disallowed from being an owner"
            ),
        )
    ]


def test_there_is_one_controller() -> None:
    """A second controller is refused with the whole list."""
    owner = {**OWNER, "controller": True}
    shown = '{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1","controller":true}'
    assert create({"name": "a", "ownerReferences": [owner, owner]}) == [
        (
            "metadata.ownerReferences",
            (
                f"Invalid value: [{shown},{shown}]: Only one reference can have Controller set to "
                'true. Found "true" in references for Pod/p and Pod/p'
            ),
        )
    ]


def test_finalizers() -> None:
    """A finalizer is a label key, and without a domain a standard one, if the kind wants that."""
    assert create({"name": "a", "finalizers": ["nope"]}) == [
        ("metadata.finalizers[0]", f'Invalid value: "nope": {FINALIZER}')
    ]
    assert create({"name": "a", "finalizers": ["nope"]}, standard_finalizers=False) == []
    found = create({"name": "a", "finalizers": ["a b"]})
    assert [field for field, _ in found] == ["metadata.finalizers", "metadata.finalizers[0]"]
    assert create({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}) == [
        (
            "metadata.finalizers",
            (
                'Invalid value: ["orphan","foregroundDeletion"]: '
                "finalizer orphan and foregroundDeletion cannot be both set"
            ),
        )
    ]


def test_generation_is_not_negative() -> None:
    """A negative generation is refused on create."""
    assert create({"name": "a", "generation": -1}) == [
        ("metadata.generation", "Invalid value: -1: must be greater than or equal to 0")
    ]


def test_the_path_can_be_another() -> None:
    """Templates have metadata too."""
    causes = om.validate_object_meta(
        {}, namespaced=False, name_check=dns1123_subdomain, path="spec.template.metadata"
    )
    assert [cause.field for cause in causes] == ["spec.template.metadata.name"]


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("name", "b", '"b"'),
        ("namespace", "m", '"m"'),
        ("uid", "zz", '"zz"'),
        ("creationTimestamp", None, "null"),
        ("deletionTimestamp", "2024-01-01T00:00:00Z", '"2024-01-01T00:00:00Z"'),
        ("deletionGracePeriodSeconds", 30, "30"),
    ],
)
def test_some_fields_never_change(field: str, value: object, shown: str) -> None:
    """A changed value is shown, a removed one is null."""
    assert update({field: value}) == [
        (f"metadata.{field}", f"Invalid value: {shown}: field is immutable")
    ]


def test_the_same_time_in_another_zone_is_no_change() -> None:
    """Times are compared as points in time."""
    assert update({"creationTimestamp": "2024-01-01T01:00:00+01:00"}) == []


def test_an_update_names_the_version_it_changes() -> None:
    """An empty resourceVersion is refused."""
    assert update({"resourceVersion": ""}) == [
        ("metadata.resourceVersion", 'Invalid value: "": must be specified for an update')
    ]
    assert om.missing_resource_version().as_dict() == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 0: must be specified for an update",
        "field": "metadata.resourceVersion",
    }


def test_generation_never_goes_back() -> None:
    """A smaller generation is refused on update."""
    assert update({"generation": 1}, generation=2) == [
        ("metadata.generation", "Invalid value: 1: must not be decremented")
    ]


def test_no_new_finalizers_while_deleting() -> None:
    """Finalizers may only be removed once deletion began."""
    old = {"deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["example.com/one"]}
    new = ["example.com/one", "example.com/three", "example.com/two"]
    assert update({"finalizers": new}, **old) == [
        (
            "metadata.finalizers",
            (
                "Forbidden: no new finalizers can be added if the object is being deleted, found "
                'new finalizers []string{"example.com/three", "example.com/two"}'
            ),
        )
    ]
    assert update({"finalizers": []}, **old) == []
    assert update({"finalizers": new}) == []


def test_updates_check_what_may_change() -> None:
    """Labels, annotations, owners and finalizers are checked again, in this order."""
    found = update(
        {
            "finalizers": ["nope"],
            "ownerReferences": [{}],
            "annotations": {"_": ""},
            "labels": {"a": "!"},
        }
    )
    fields = [field for field, _ in found]
    assert fields == [
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences.apiVersion",
        "metadata.ownerReferences.kind",
        "metadata.ownerReferences.name",
        "metadata.ownerReferences.uid",
        "metadata.finalizers[0]",
    ]


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="abž-", max_size=80), st.text(om.GENERATE_NAME_ALPHABET, min_size=5))
def test_generated_names_fit_into_a_label(base: str, suffix: str) -> None:
    """A generated name is the prefix, cut if need be, and the suffix."""
    suffix = suffix[: om.GENERATE_NAME_SUFFIX]
    name = om.generate_name(base, suffix)
    assert name.endswith(suffix)
    if base.isascii():
        assert name == base[:58] + suffix
        assert len(name) <= 63


def test_finalizers_are_checked_on_update_too() -> None:
    """A finalizer is a label key, and not both ways of deleting dependents."""
    fields = [field for field, _ in update({"finalizers": ["example.com/a b"]})]
    assert fields == ["metadata.finalizers"]
    found = update({"finalizers": ["orphan", "foregroundDeletion"]})
    assert found == [
        (
            "metadata.finalizers",
            (
                'Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
                "foregroundDeletion cannot be both set"
            ),
        )
    ]


@pytest.mark.parametrize(
    ("changes", "old", "checks", "updates", "times"),
    [
        ({"labels": {"a": "!"}}, {}, 1, 1, 4),
        ({"labels": {"a": "!"}}, {}, 0, 1, 3),
        ({"ownerReferences": [{**OWNER, "kind": ""}]}, {}, 2, 1, 5),
        ({"uid": "other"}, {}, 1, 1, 2),
        ({"uid": "other"}, {}, 1, 0, 1),
        ({"finalizers": ["plain"]}, {}, 1, 1, 2),
        ({"finalizers": ["example.com/a b"]}, {}, 1, 1, 2),
        ({"finalizers": ["example.com/a b"]}, {}, 0, 1, 1),
        (
            {"finalizers": ["example.com/a"], "deletionTimestamp": "2024-01-01T00:00:00Z"},
            {"deletionTimestamp": "2024-01-01T00:00:00Z"},
            1,
            1,
            2,
        ),
    ],
)
def test_causes_stand_for_every_check(
    changes: dict[str, Any], old: dict[str, Any], checks: int, updates: int, times: int
) -> None:
    """Two checks for all kinds, and as many as the kind makes of its own."""
    stored = {**STORED, **old}
    (cause,) = om.validate_object_meta_update({**stored, **changes}, stored)
    assert om.repeated([cause], checks, updates) == [cause] * times


def test_causes_come_in_rounds() -> None:
    """Of the object, of the change, and again what the kind checks itself."""
    changes = {"uid": "other", "labels": {"a": "!"}, "annotations": {"!": ""}}
    causes = om.validate_object_meta_update({**STORED, **changes, "finalizers": ["plain"]}, STORED)
    both = ["metadata.labels", "metadata.annotations"]
    change, odd = ["metadata.uid", *both], ["metadata.finalizers[0]"]
    found = [cause.field for cause in om.repeated(causes, 1, 1)]
    assert found == [*both, *change, *both, *odd, *change, *odd]
    found = [cause.field for cause in om.repeated(causes, 1, 1, updates_first=True)]
    assert found == [*both, *change, *change, *odd, *both, *odd]
