"""Which pods go first."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.podcontrol.ranking import in_active_order, to_delete
from kubetrio.controllers.podcontrol.view import Pod, view_of

NOW = 1_000_000.0
RUNNING = view_of({"metadata": {"name": "p", "uid": "u"}, "status": {"phase": "Running"}})._replace(
    node="n", ready=True, ready_since=NOW - 100, created=NOW - 100
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"node": ""}, {}),
        ({"phase": "Pending"}, {}),
        ({"phase": "Pending"}, {"phase": "Unknown"}),
        ({"ready": False}, {}),
        ({"cost": -1}, {}),
        ({"cost": -1, "node": "n"}, {"node": "m"}),
        ({"ready_since": NOW - 10}, {}),
        ({"ready_since": 0.0}, {}),
        ({"restarts": (3, 0)}, {}),
        ({"restarts": (0, 1)}, {}),
        ({"created": NOW - 10}, {}),
        # of about the same age: the uid decides
        ({"created": NOW - 101, "uid": "a"}, {"created": NOW - 100, "uid": "b"}),
        ({"ready_since": NOW - 101, "uid": "a"}, {"uid": "b"}),
    ],
)
def test_the_first_to_go(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Whatever the order in which they are given."""
    one, two = RUNNING._replace(**first), RUNNING._replace(**second)
    for pods in ([one, two], [two, one]):
        assert list(to_delete(pods, [], 1, NOW)) == [one]


def test_a_node_with_more_related_pods_loses_one() -> None:
    """Also with those of other owners."""
    one, two = RUNNING._replace(name="a"), RUNNING._replace(name="b", node="m")
    beside = [RUNNING._replace(name="c", node="m")]
    assert list(to_delete([one, two], [one, two, *beside], 1, NOW)) == [two]


def test_all_go_in_the_order_given() -> None:
    """Nothing is to be chosen then."""
    pods = [RUNNING, RUNNING._replace(node="")]
    assert list(to_delete(pods, [], 2, NOW)) == pods


def test_the_order_without_ranks() -> None:
    """Ages count exactly."""
    pods: list[Pod] = [
        RUNNING,
        RUNNING._replace(name="restarted", restarts=(1, 0)),
        RUNNING._replace(name="young", created=NOW - 99),
        RUNNING._replace(name="late", ready_since=NOW - 99),
        RUNNING._replace(name="unready", ready=False),
    ]
    names = [pod.name for pod in in_active_order(pods)]
    assert names == ["unready", "late", "restarted", "young", "p"]
