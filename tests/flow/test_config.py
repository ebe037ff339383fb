"""Digest of the configuration API."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.flow.config import (
    MANDATORY_LEVELS,
    MANDATORY_SCHEMAS,
    ConfigError,
    Distinguisher,
    LevelKind,
    PolicyRule,
    Queuing,
    ResourceRule,
    Subject,
    digest,
    flow_schema,
    priority_level,
)
from kubetrio.schema import builtin


def bootstrap(kind: str) -> list[dict[str, Any]]:
    """The objects of a kind that a fresh server has."""
    objects = builtin.load("bootstrap").items()
    return [value for name, value in objects if name.startswith(f"{kind} ")]


def level(spec: dict[str, Any], name: str = "one") -> dict[str, Any]:
    """A PriorityLevelConfiguration object."""
    return {"metadata": {"name": name, "uid": "u"}, "spec": spec}


def test_bootstrap_objects_digest() -> None:
    """Nothing that a fresh server has is broken."""
    result = digest(bootstrap("FlowSchema"), bootstrap("PriorityLevelConfiguration"))
    assert (len(result.schemas), len(result.levels), result.broken) == (11, 8, ())


@pytest.mark.parametrize("name", ["exempt", "catch-all"])
def test_mandatory_objects_are_the_documented_ones(name: str) -> None:
    """What is built in equals what is stored."""
    objects = builtin.load("bootstrap")
    assert flow_schema(objects[f"FlowSchema {name}"]) == MANDATORY_SCHEMAS[name]
    stored = priority_level(objects[f"PriorityLevelConfiguration {name}"])
    assert stored == MANDATORY_LEVELS[name]


def test_level_defaults() -> None:
    """Absent members take the defaults of the API."""
    limited = {"limitResponse": {"type": "Queue", "queuing": {}}}
    result = priority_level(level({"type": "Limited", "limited": limited}))
    assert result.queuing == Queuing(64, 8, 50)
    assert (result.shares, result.lendable_percent, result.borrowing_limit_percent) == (30, 0, None)
    assert (result.name, result.uid, result.kind) == ("one", "u", LevelKind.QUEUE)


def test_zero_is_not_absent() -> None:
    """A level may have no shares and borrow nothing."""
    limited = {"nominalConcurrencyShares": 0, "borrowingLimitPercent": 0}
    result = priority_level(level({"type": "Limited", "limited": limited}))
    assert (result.shares, result.borrowing_limit_percent) == (0, 0)
    assert result.kind is LevelKind.REJECT


@pytest.mark.parametrize(
    ("spec", "name", "why"),
    [
        ({"type": "Exempt"}, "one", "only 'exempt'"),
        ({"type": "Exempt", "limited": {}}, "exempt", "with a limited member"),
        ({"type": "Limited", "limited": {}}, "exempt", "must be of type Exempt"),
        ({"type": "Limited"}, "one", "does not agree"),
        ({"type": "Limited", "limited": {}, "exempt": {}}, "one", "does not agree"),
        ({"type": "Other", "limited": {}}, "one", "'Other'"),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Reject", "queuing": {}}}},
            "one",
            "'Reject'",
        ),
        (
            {
                "type": "Limited",
                "limited": {"limitResponse": {"type": "Queue", "queuing": {"handSize": 20}}},
            },
            "one",
            "bits of entropy",
        ),
    ],
)
def test_broken_levels(spec: dict[str, Any], name: str, why: str) -> None:
    """A level that contradicts itself is refused with the reason, and left out of a digest."""
    with pytest.raises(ConfigError, match=why):
        priority_level(level(spec, name))
    result = digest([], [level(spec, name)])
    assert result.levels == ()
    assert result.broken[0][:2] == ("PriorityLevelConfiguration", name)


def test_schema_members() -> None:
    """Every member of a schema arrives in its place."""
    result = flow_schema(
        {
            "metadata": {"name": "s", "uid": "u"},
            "spec": {
                "priorityLevelConfiguration": {"name": "l"},
                "matchingPrecedence": 7,
                "distinguisherMethod": {"type": "ByNamespace"},
                "rules": [
                    {
                        "subjects": [
                            {
                                "kind": "ServiceAccount",
                                "serviceAccount": {"name": "a", "namespace": "n"},
                            },
                            {"kind": "User", "user": {"name": "b"}},
                        ],
                        "resourceRules": [
                            {
                                "verbs": ["get"],
                                "apiGroups": [""],
                                "resources": ["pods/log"],
                                "namespaces": ["n"],
                            }
                        ],
                    }
                ],
            },
        }
    )
    assert (result.order, result.level, result.uid) == ((7, "s"), "l", "u")
    assert result.distinguisher is Distinguisher.BY_NAMESPACE
    assert result.rules == (
        PolicyRule(
            (Subject("ServiceAccount", "a", "n"), Subject("User", "b")),
            (ResourceRule(("get",), ("",), ("pods/log",), False, ("n",)),),
        ),
    )


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"priorityLevelConfiguration": {"name": "l"}, "distinguisherMethod": {"type": "ByMoon"}},
    ],
)
def test_broken_schemas(spec: dict[str, Any]) -> None:
    """A schema of no level, or that tells flows apart in no known way, is left out."""
    result = digest([{"metadata": {"name": "s"}, "spec": spec}], [])
    assert result.schemas == ()
    assert result.broken[0][:2] == ("FlowSchema", "s")
