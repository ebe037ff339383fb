"""Rows of the debug pages."""

from __future__ import annotations

import pytest

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.observe import (
    PRIORITY_LEVEL_COLUMNS,
    REQUEST_COLUMNS,
    priority_level_rows,
    request_rows,
)
from kubetrio.flow.seats import Width


def serving() -> Dispatcher:
    """One level with two seats and one queue."""
    everything = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
    dispatcher = Dispatcher(0.0, 2)
    dispatcher.reconfigure(
        0.0,
        [FlowSchema(name="s", level="a", rules=(PolicyRule((Subject("User", "u"),), everything),))],
        [PriorityLevel(name="a", kind=LevelKind.QUEUE, queuing=Queuing(1, 1, 3))],
    )
    return dispatcher


def test_a_queue_is_active_while_somebody_waits_in_it() -> None:
    """What only executes is not counted."""
    dispatcher, column = serving(), PRIORITY_LEVEL_COLUMNS.index("ActiveQueues")
    found = []
    for _ in range(2):
        dispatcher.arrive(1.0, RequestDigest("u", (), "get", resource="pods"), Width(2))
        rows = {row[0]: row for row in priority_level_rows(dispatcher.statistics(1.0))}
        found.append(rows["a"][column])
    assert found == ["0", "1"]


@pytest.mark.parametrize(
    ("group", "version", "shown"),
    [("", "v1", "v1"), ("apps", "v1", "apps/v1"), ("", "", "")],
)
def test_versions_are_shown_with_their_group(group: str, version: str, shown: str) -> None:
    """As objects name it; nothing for what is not about a resource."""
    dispatcher = serving()
    about = RequestDigest("u", (), "get", "/there", "ns", "things", "", group, "one", version)
    dispatcher.arrive(1.0, about)
    (row,) = request_rows(dispatcher.requests(), str, details=True)
    details = row[len(REQUEST_COLUMNS) :]
    assert details == ("u", "get", "/there", "ns", "one", shown, "things", "")
