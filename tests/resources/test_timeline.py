"""A timeline tells of each revision when it was made, by what verb and by which manager."""

from __future__ import annotations

from typing import Any

from kubetrio.resources.timeline import Entry, time_text, timeline
from kubetrio.store.model import EventType
from kubetrio.store.past import Past

AT_MS = 1_777_629_600_000


def state(time: str, *managers: str) -> dict[str, Any]:
    fields = [
        {"manager": one, "operation": "Update", "time": time, "fieldsV1": {f"f:{one}": {}}}
        for one in managers
    ]
    return {"metadata": {"managedFields": fields, "generation": len(managers)}}


async def test_each_revision_names_who_wrote_it() -> None:
    """A deletion names nobody; what is encrypted says so."""
    time = time_text(AT_MS)
    states: dict[int, dict[str, Any] | None] = {
        1: state(time, "a"), 2: state(time, "a", "b"), 3: state(time, "a", "b"), 5: None,
    }  # fmt: skip

    async def read(past: Past) -> dict[str, Any] | None:
        return states[past.revision]

    pasts = [
        Past(1, EventType.CREATED, AT_MS),
        Past(2, EventType.UPDATED, AT_MS + 900),
        Past(3, EventType.DELETED, 0),
        Past(5, EventType.CREATED, AT_MS),
    ]
    assert await timeline(pasts, read) == [
        Entry(1, AT_MS, "create", "a", 1),
        Entry(2, AT_MS + 900, "update", "b", 2),
        Entry(3, 0, "delete", "", 2),
        Entry(5, AT_MS, "create", encrypted=True),
    ]


def test_times_are_those_of_the_api() -> None:
    """RFC 3339 with seconds, and nothing where the time is not known."""
    assert Entry(1, AT_MS, "create").time == "2026-05-01T10:00:00Z"
    assert Entry(1, 0, "create").time == ""
