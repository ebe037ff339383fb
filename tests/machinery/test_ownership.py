"""Owners of one object."""

import pytest
from apply_types import ROOT, STRINGS

from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.ownership import (
    APPLY,
    NEVER_OWNED,
    ONE_VERSION,
    UPDATE,
    ApplyConflict,
    Manager,
    Owned,
    Rules,
    Typed,
    excluding,
    reconcile,
    track_update,
    transfer,
)
from kubetrio.machinery.typeschema import TypeKind, TypeSchema

ME = Manager("me", UPDATE, "v1", "")
OTHER = Manager("other", APPLY, "", "")


def typed(value):
    return Typed(value, ROOT, "v1")


def owned(*paths, time="then"):
    return Owned(FieldSet.of(*paths), "v1", time)


def updated(owners, old, new, rules=ONE_VERSION):
    return track_update(owners, ME, typed(old), typed(new), rules=rules, now="now")


def test_a_change_moves_ownership():
    """Who changes a field owns it; who owned nothing else is gone."""
    after = updated({OTHER: owned(("f:count",))}, {"count": 1}, {"count": 2})
    assert after == {ME: owned(("f:count",), time="now")}


def test_what_stays_equal_stays_owned():
    """An update that sends the same value takes nothing and leaves no trace."""
    owners = {OTHER: owned(("f:count",))}
    assert updated(owners, {"count": 1}, {"count": 1}) == owners


def test_what_is_gone_is_nobodys():
    """Removal takes from all, and is no reason for a new time."""
    owners = {ME: owned(("f:count",), ("f:on",)), OTHER: owned(("f:count",))}
    after = updated(owners, {"count": 1, "on": True}, {"on": True})
    assert after == {ME: owned(("f:on",))}


def test_identity_and_bookkeeping_are_not_owned():
    """What the path or the server says is nobody's."""
    new = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}}
    (after,) = updated({}, {}, new).values()
    assert after.fields.to_fields_v1() == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    assert ("f:metadata", "f:uid") in NEVER_OWNED


def test_conflicts_are_listed_in_order():
    """By manager, then by path; nothing is taken."""
    owners = {
        ME._replace(name="z"): owned(("f:count",)),
        OTHER: owned(("f:on",), ("f:count",)),
    }
    old, new = typed({"count": 1, "on": True}), typed({"count": 2, "on": False})
    with pytest.raises(ApplyConflict) as caught:
        transfer(owners, ME, old, new, rules=ONE_VERSION, force=False)
    found = [(each.manager.name, each.path) for each in caught.value.conflicts]
    assert found == [("other", ("f:count",)), ("other", ("f:on",)), ("z", ("f:count",))]


def test_filters():
    """A filter excludes what is under a path."""
    fields = FieldSet.of(
        ("f:spec", "f:c", "v:1", "f:image"),
        ("f:spec", "f:c", "v:1", "f:resources", "f:cpu"),
        ("f:status", "f:x"),
    )
    assert list(excluding(("f:spec",))(fields)) == [("f:status", "f:x")]


def test_filtered_changes_are_not_tracked():
    """What a write may not set neither gives nor takes ownership."""
    owners = {OTHER: owned(("f:count",))}
    rules = Rules(keep=excluding(("f:count",)))
    assert updated(owners, {"count": 1}, {"count": 2}, rules) == owners


def test_fields_in_what_became_atomic_are_owned_as_a_whole():
    """Owners of parts own the whole; other owners are left as they are."""
    schema = TypeSchema(
        kind=TypeKind.MAP,
        load_fields=lambda: {
            "m": TypeSchema(kind=TypeKind.MAP, map_type="atomic", load_element=lambda: STRINGS),
            "n": STRINGS,
        },
    )
    plain = owned(("f:n", "f:a"))
    owners = {ME: owned(("f:m", "f:a", "f:b"), ("f:n", "f:a")), OTHER: plain}
    after = reconcile(owners, Typed({}, schema, "v1"), ONE_VERSION)
    assert after[ME].fields == FieldSet.of(("f:m",), ("f:n", "f:a"))
    assert after[OTHER] is plain


def test_a_set_is_reconciled_for_each_type():
    """That it is known to be in terms of one says nothing about another."""
    parts = {"m": TypeSchema(kind=TypeKind.MAP, load_element=lambda: STRINGS)}
    granular = TypeSchema(kind=TypeKind.MAP, load_fields=lambda: parts)
    whole = {"m": TypeSchema(kind=TypeKind.MAP, map_type="atomic")}
    atomic = TypeSchema(kind=TypeKind.MAP, load_fields=lambda: whole)
    mine = owned(("f:m", "f:a"))
    for _ in range(2):
        assert reconcile({ME: mine}, Typed({}, granular, "v1"), ONE_VERSION)[ME] is mine
    after = reconcile({ME: mine}, Typed({}, atomic, "v1"), ONE_VERSION)[ME]
    assert after.fields == FieldSet.of(("f:m",))
    assert reconcile({ME: after}, Typed({}, atomic, "v1"), ONE_VERSION)[ME] is after


def test_owners_of_unserved_versions_are_left_to_the_write():
    """Without a type nothing is known about them yet."""
    owners = {OTHER: Owned(FieldSet.of(("f:x",)), "v0", None)}
    assert reconcile(owners, typed({}), ONE_VERSION) == owners
    assert updated(owners, {"count": 1}, {"count": 2}).keys() == {ME}
