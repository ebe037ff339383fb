"""Several values for each key."""

from __future__ import annotations

from kubetrio.machinery.multimaps import discard


def test_a_key_goes_with_its_last_value() -> None:
    """What is not there is no error."""
    sets = {"a": {1, 2}, "b": {3}}
    discard(sets, "a", 1)
    discard(sets, "b", 3)
    discard(sets, "b", 3)
    discard(sets, "a", 3)
    assert sets == {"a": {2}}
