"""The model of server-side apply says what the documentation says."""

from __future__ import annotations

from fuzz.applied_fields import Model, leaves_of, owned, spec_of

SPEC = {
    "a": "1",
    "map": {"k": "2"},
    "plain": ["3"],
    "rows": [{"name": "x", "v": "4"}],
    "set": ["s"],
}
A, B = ("a",), ("b",)


def test_leaves_are_the_spec() -> None:
    assert spec_of(leaves_of(SPEC)) == SPEC


def test_fields_of_an_entry() -> None:
    """As managedFields write them."""
    fields = {
        "f:spec": {
            "f:a": {},
            "f:map": {".": {}, "f:k": {}},
            "f:plain": {},
            "f:set": {'v:"s"': {}},
            "f:rows": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:v": {}}},
        }
    }
    assert owned(fields) == set(leaves_of(SPEC))


def test_a_conflict_is_another_value_of_a_field_of_others() -> None:
    """An equal value is owned together."""
    model = Model()
    model.apply("ann", {A: "1", B: "1"})
    assert model.conflicts("bea", {A: "1", B: "2"}) == {("ann", B)}
    model.apply("bea", {A: "1", B: "2"})
    assert model.live == {A: "1", B: "2"}
    assert model.owners == {"ann": {A}, "bea": {A, B}}


def test_what_its_last_owner_gives_up_goes() -> None:
    model = Model()
    model.apply("ann", {A: "1", B: "1"})
    model.apply("bea", {A: "1"})
    model.apply("ann", {})
    assert model.live == {A: "1"}
    assert model.owners == {"bea": {A}}


def test_a_writer_owns_what_it_changes() -> None:
    """And the others lose what is changed or gone."""
    model = Model()
    model.apply("ann", {A: "1", B: "1"})
    model.write("put", {A: "2"})
    assert model.live == {A: "2"}
    assert model.owners == {"put": {A}}
