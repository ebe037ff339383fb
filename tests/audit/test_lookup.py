"""The audit log tells which user made a revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.audit.lookup import Object, Writers, Wrote, read_writers

AT_MS = 1_777_629_600_000
ABOUT = Object("apps", "deployments", "shop", "web")


def event(verb: str, user: str, **changes: Any) -> dict[str, Any]:
    made = {
        "stage": "ResponseComplete", "verb": verb, "user": {"username": user},
        "objectRef": {"resource": "deployments", "namespace": "shop", "name": "web",
                      "apiGroup": "apps"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2026-05-01T10:00:00.100000Z",
        "stageTimestamp": "2026-05-01T10:00:00.200000Z",
    }  # fmt: skip
    return made | changes


def writers(tmp_path: Path, *events: Any, most_bytes: int = 1 << 20) -> Writers:
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return read_writers(path, most_bytes)


@pytest.mark.parametrize(
    ("written", "verb", "at_ms", "user"),
    [
        (event("delete", "eve"), "delete", AT_MS + 150, "eve"),
        (event("patch", "eve"), "update", AT_MS, "eve"),
        (event("patch", "eve"), "create", AT_MS, "eve"),
        (event("patch", "eve", impersonatedUser={"username": "bob"}), "update", AT_MS, "bob"),
        (event("patch", "eve"), "update", AT_MS + 60_000, ""),
        (event("get", "eve"), "update", AT_MS, ""),
        (event("patch", "eve", responseStatus={"code": 409}), "update", AT_MS, ""),
        (event("patch", "eve", stage="RequestReceived"), "update", AT_MS, ""),
        (event("create", "eve", objectRef={"resource": "pods"}), "create", AT_MS, ""),
        ("no event", "create", AT_MS, ""),
    ],
)
def test_a_write_is_found_by_object_verb_and_time(
    tmp_path: Path, written: Any, verb: str, at_ms: int, user: str
) -> None:
    """One that failed, or is about something else, is none."""
    assert writers(tmp_path, written).who(ABOUT, verb, 7, at_ms) == user


def test_the_revision_of_the_answer_decides(tmp_path: Path) -> None:
    """Two users write in one second; the event with the answer says which revision is whose."""

    def answer(revision: str) -> dict[str, Any]:
        return {"metadata": {"name": "web", "resourceVersion": revision}}

    both = writers(
        tmp_path,
        event("update", "a", responseObject=answer("7")),
        event("update", "b", responseObject=answer("8")),
    )
    assert both.who(ABOUT, "update", 7, AT_MS) == "a"
    assert both.who(ABOUT, "update", 8, AT_MS) == "b"
    assert both.who(ABOUT, "update", 9, AT_MS) == ""


def test_two_who_may_have_written_are_not_guessed_between() -> None:
    """Without revisions, a moment at which two users wrote names neither."""

    def wrote(user: str) -> Wrote:
        return Wrote(user, "update", "apps", "deployments", "shop", "web", AT_MS, AT_MS, 0)

    assert Writers([wrote("a"), wrote("b")]).who(ABOUT, "update", 7, AT_MS) == ""
    assert Writers([wrote("a"), wrote("a")]).who(ABOUT, "update", 7, AT_MS) == "a"


def test_collections_are_deleted_without_names(tmp_path: Path) -> None:
    """An event of deletecollection is about each object of the namespace."""
    about = {"resource": "deployments", "namespace": "shop", "apiGroup": "apps"}
    found = writers(tmp_path, event("deletecollection", "eve", objectRef=about))
    assert found.who(ABOUT, "delete", 7, AT_MS) == "eve"
    assert found.who(ABOUT._replace(namespace="other"), "delete", 7, AT_MS) == ""


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    """From a whole line on."""
    old, new = event("update", "old"), event("delete", "new")
    found = writers(tmp_path, old, new, most_bytes=len(json.dumps(new)) + 5)
    assert found.who(ABOUT, "update", 7, AT_MS) == "new"
