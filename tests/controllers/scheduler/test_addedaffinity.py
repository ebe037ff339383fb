"""Affinity to nodes that a profile adds: what is read of it, and what makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.scheduler.addedaffinity import added_affinity
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members, told

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROW = {"key": "disk", "operator": "In", "values": ["ssd"]}


def test_what_is_read() -> None:
    """Both parts, as objects of a pod have them; nothing for nothing."""
    assert added_affinity(Members(None, "a")) is None
    given = {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ROW]}]},
        PREFERRED: [{"weight": 5, "preference": {"matchFields": [{**ROW, "key": "x"}]}}],
    }
    members = Members(given, "a")
    assert added_affinity(members) == given
    assert members.scope.causes == []


WRONG: dict[str, tuple[Object, str]] = {
    "no values": (
        {"key": "a", "operator": "In"},
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ),
    "values": (
        {"key": "a", "operator": "Exists", "values": ["b"]},
        'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ),
    "no integer": (
        {"key": "a", "operator": "Gt", "values": ["b"]},
        "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
    ),
    "no operator": (
        {"key": "a", "operator": "Some"},
        ('operator: Unsupported value: "Some": supported values: "DoesNotExist", "Exists", "Gt", '
        '"In", "Lt", "NotIn"'),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense(name: str) -> None:
    """The text names the place; a preference without a weight is not looked at."""
    row, text = WRONG[name]
    members = Members({REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [row]}]}}, "a")
    added_affinity(members)
    path = f"a.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
    assert told(members.scope.causes) == f"{path}.{text}"
    for weight, paths in ((0, []), (5, [f"a.{PREFERRED}[0].matchExpressions[0]"])):
        preference = {"weight": weight, "preference": {"matchExpressions": [row]}}
        members = Members({PREFERRED: [preference]}, "a")
        added_affinity(members)
        assert [str(one) for one in members.scope.causes] == [f"{path}.{text}" for path in paths]


def test_unknown_members() -> None:
    """They are refused."""
    with pytest.raises(ConfigurationError, match=r'unknown field "a\.required"'):
        added_affinity(Members({"required": {}}, "a"))
