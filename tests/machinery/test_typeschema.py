"""Types as merging sees them."""

from apply_types import PORT, ROOT, STRING

from kubetrio.machinery.typeschema import DEDUCED, TypeKind, TypeSchema


def test_members_are_declared_or_of_the_element():
    """A member has its own type, else that of all members, else none."""
    typed = TypeSchema(
        kind=TypeKind.MAP, load_fields=lambda: {"a": PORT}, load_element=lambda: STRING
    )
    assert (typed.member("a"), typed.member("b")) == (PORT, STRING)
    assert PORT.member("other") is None


def test_parts_are_made_once():
    """Types are compared by identity, so a part is the same each time it is asked for."""
    assert ROOT.fields["items"].element is ROOT.fields["items"].element
    assert DEDUCED.element is DEDUCED


def test_atomic_is_the_default_of_lists_only():
    """Lists without a type and atomic maps are owned as a whole."""
    atomic = {name for name, part in ROOT.fields.items() if part.atomic}
    assert atomic == {"list", "whole"}
    assert not ROOT.fields["ports"].element.fields["protocol"].atomic


def test_defaults_of_key_fields():
    """A key field without a default is not among them."""
    assert ROOT.fields["ports"].key_defaults == {"protocol": "TCP"}
    assert ROOT.fields["set"].key_defaults == {}
