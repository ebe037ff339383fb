"""The kinds of the core group."""

from __future__ import annotations

from checks.groups import assert_complete

from kubetrio.kinds.core.kinds import KINDS


def test_what_is_served_has_a_value() -> None:
    """Nothing else has one, and all that the values name is there."""
    assert_complete("", KINDS)
