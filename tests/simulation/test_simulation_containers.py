"""States of one container."""

from __future__ import annotations

from kubetrio.simulation import containers as states
from kubetrio.simulation.containers import Backoff, first_backoff, shown_s

NOW = 1_700_000_000.0
CONTAINER = {"name": "c", "image": "nginx"}


def test_a_container_starts_ends_and_starts_again() -> None:
    """Each state keeps of the one before what a status shows, and has an id of its own."""
    new = states.new_status(CONTAINER, "ContainerCreating")
    assert (states.reason_of(new), states.finished_at(new)) == ("ContainerCreating", None)
    first = states.running(new, CONTAINER, "u", NOW)
    assert (first["restartCount"], first["started"], first["lastState"]) == (0, True, {})
    ended = states.terminated(first, 3, NOW + 5)
    assert ended["state"]["terminated"] == {
        "exitCode": 3, "reason": "Error", "startedAt": "2023-11-14T22:13:20Z",
        "finishedAt": "2023-11-14T22:13:25Z", "containerID": first["containerID"],
    }  # fmt: skip
    waits = states.waiting(ended, states.CRASH_LOOP, "a while")
    assert waits["lastState"] == ended["state"]
    assert states.finished_at(waits) == NOW + 5
    again = states.running(waits, CONTAINER, "u", NOW + 20)
    assert (again["restartCount"], states.started_at(again)) == (1, NOW + 20)
    assert again["containerID"] != first["containerID"]
    assert again["imageID"] == first["imageID"]
    assert states.running(ended, CONTAINER, "u", NOW)["lastState"] == ended["state"]


def test_success_has_another_reason() -> None:
    """The reason of code 0."""
    status = states.running(states.new_status(CONTAINER, ""), CONTAINER, "u", NOW)
    assert states.terminated(status, 0, NOW)["state"]["terminated"]["reason"] == "Completed"


def test_a_status_says_what_a_container_has() -> None:
    """Where its spec says something."""
    status = states.new_status(CONTAINER, "")
    assert states.with_resources(status, CONTAINER) is status
    resources = {"limits": {"cpu": "1"}}
    made = states.with_resources(status, {**CONTAINER, "resources": resources})
    assert made["resources"] == resources
    assert "allocatedResources" not in made
    assert states.with_resources(made, {**CONTAINER, "resources": resources}) is made


def test_back_offs_double() -> None:
    """From ten seconds to five minutes."""
    backoff, delays = first_backoff(0), []
    for _ in range(7):
        delays.append(backoff.delay_s)
        backoff = backoff.next(1)
    assert delays == [10, 20, 40, 80, 160, 300, 300]
    assert backoff == Backoff(300, 1)


def test_times_are_shown_as_by_go() -> None:
    """In messages of crash loops."""
    assert [shown_s(seconds) for seconds in (10, 40, 80, 300)] == ["10s", "40s", "1m20s", "5m0s"]
