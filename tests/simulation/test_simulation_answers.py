"""What simulated containers say."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.simulation.answers import (
    Ran,
    Unanswered,
    answer_of,
    http_answer,
    log_of,
    page_of,
    runs,
    status_of,
)

Object = dict[str, Any]
RUNS: Object = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def pod(state: Object | None = None, last: Object | None = None, **annotations: str) -> Object:
    """A pod with one container."""
    status = {"name": "c", "state": RUNS if state is None else state, "lastState": last or {}}
    return {
        "metadata": {
            "name": "p",
            "annotations": {f"simulation.kubetrio.io/{key}": v for key, v in annotations.items()},
        },
        "spec": {"containers": [{"name": "c"}]},
        "status": {"containerStatuses": [status]},
    }


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, b"one\ntwo\nthree\n"),
        ({"tailLines": "2"}, b"two\nthree\n"),
        ({"tailLines": "0"}, b""),
        ({"tailLines": "9"}, b"one\ntwo\nthree\n"),
        ({"limitBytes": "5"}, b"one\nt"),
        ({"timestamps": "true", "tailLines": "1"}, b"2026-01-01T00:00:00Z three\n"),
        ({"sinceTime": "2026-01-01T00:00:01Z"}, b""),
        ({"sinceTime": "2025-12-31T00:00:00Z"}, b"one\ntwo\nthree\n"),
        ({"stream": "Stderr"}, b""),
        ({"stream": "All"}, b"one\ntwo\nthree\n"),
    ],
)
def test_parts_of_a_log(query: dict[str, str], text: bytes) -> None:
    """As the options of a request have them; all lines are as old as the container."""
    assert log_of(pod(logs="one\ntwo\nthree"), "c", query) == text


def test_a_log_is_empty_unless_something_is_said() -> None:
    """And a container's own annotation is stronger than its pod's."""
    assert log_of(pod(), "c", {}) == b""
    both = pod(logs="all")
    both["metadata"]["annotations"]["simulation.kubetrio.io/logs.c"] = "mine"
    assert log_of(both, "c", {}) == b"mine\n"


def test_logs_that_are_not_there() -> None:
    """In the words of a kubelet."""
    waits: Object = {"waiting": {"reason": "PodInitializing"}}
    with pytest.raises(Unanswered) as caught:
        log_of(pod(waits), "c", {})
    assert caught.value.status == 400
    assert str(caught.value) == ('container "c" in pod "p" is waiting to start: PodInitializing')
    with pytest.raises(Unanswered, match='previous terminated container "c" in pod "p" not found'):
        log_of(pod(), "c", {"previous": "true"})


def test_a_container_that_crashed_has_logs() -> None:
    """While it waits, and of the time before."""
    last = {"terminated": {"startedAt": "2025-01-01T00:00:00Z"}}
    waits: Object = {"waiting": {"reason": "CrashLoopBackOff"}}
    made = pod(waits, last, logs="x")
    stamped = {"timestamps": "true"}
    assert log_of(made, "c", stamped) == b"2025-01-01T00:00:00Z x\n"
    assert log_of(made, "c", {**stamped, "previous": "true"}) == b"2025-01-01T00:00:00Z x\n"


RULES = orjson.dumps(
    {"ls -l": "files", "false": {"stderr": "no", "exitCode": 3}, "odd": {"exitCode": 999}}
).decode()


@pytest.mark.parametrize(
    ("said", "command", "ran"),
    [
        ("hello", ["any", "thing"], Ran("hello\n")),
        ("", ["true"], Ran()),
        (RULES, ["ls", "-l"], Ran("files\n")),
        (RULES, ["false"], Ran(stderr="no\n", code=3)),
        (RULES, ["odd"], Ran()),
        (RULES, ["ls"], Ran(stderr="ls: no answer is simulated\n", code=127)),
        ('{"*": "rest"}', ["ls"], Ran("rest\n")),
    ],
)
def test_commands(said: str, command: list[str], ran: Ran) -> None:
    """A text answers all of them, an object those that it names."""
    assert answer_of(pod(exec=said), "c", command) == ran


def test_a_command_without_an_answer_fails() -> None:
    """As one that is not in the image; an annotation that cannot be read says why."""
    assert answer_of(pod(), "c", ["ls"]).code == 127
    broken = answer_of(pod(exec="{nonsense"), "c", ["ls"])
    assert broken.code == 126
    assert "no JSON object" in broken.stderr


def test_pages_are_served_while_the_pod_runs() -> None:
    """Nothing listens without an annotation, or when no container runs."""
    assert page_of(pod(http="hi")) == b"hi"
    assert page_of(pod()) is None
    assert page_of(pod({"terminated": {}}, http="hi")) is None
    head, _, body = http_answer(b"hi").partition(b"\r\n\r\n")
    assert (b"Content-Length: 2" in head, body) == (True, b"hi")


def test_containers_are_found_by_name() -> None:
    """One that is not there does not run."""
    assert runs(pod(), "c")
    assert not runs(pod(), "other")
    assert status_of(pod(), "other") == {}
