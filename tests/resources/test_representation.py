"""Metadata of lists."""

from __future__ import annotations

import pytest

from kubetrio.resources.representation import ListMeta


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (ListMeta(resource_version="7"), {"resourceVersion": "7"}),
        (
            ListMeta(resource_version="7", continue_token="t", remaining=3),
            {"resourceVersion": "7", "continue": "t", "remainingItemCount": 3},
        ),
        (
            ListMeta(resource_version="7", continue_token="t"),
            {"resourceVersion": "7", "continue": "t"},
        ),
    ],
)
def test_members_are_there_when_they_say_something(
    meta: ListMeta, expected: dict[str, object]
) -> None:
    """As Go leaves out what is empty."""
    assert meta.as_dict() == expected
