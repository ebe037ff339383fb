"""The audit log tells which user made a revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.audit.lookup import Change, Object, Writers, Wrote, read_writers

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


def who(found: Writers, verb: str, revision: int, at_ms: int, about: Object = ABOUT) -> str:
    """The user of one revision."""
    return found.users(about, [Change(revision, verb, at_ms)]).get(revision, "")


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
    assert who(writers(tmp_path, written), verb, 7, at_ms) == user


def test_the_revision_of_the_answer_decides(tmp_path: Path) -> None:
    """Two users write in one second; the event with the answer says which revision is whose."""

    def answer(revision: str) -> dict[str, Any]:
        return {"metadata": {"name": "web", "resourceVersion": revision}}

    both = writers(
        tmp_path,
        event("update", "a", responseObject=answer("7")),
        event("update", "b", responseObject=answer("8")),
    )
    assert who(both, "update", 7, AT_MS) == "a"
    assert who(both, "update", 8, AT_MS) == "b"
    assert who(both, "update", 9, AT_MS) == ""


def test_two_who_may_have_written_are_not_guessed_between() -> None:
    """Without revisions, a moment at which two users wrote names neither."""

    def wrote(user: str) -> Wrote:
        return Wrote(user, "update", "apps", "deployments", "shop", "web", AT_MS, AT_MS, 0)

    assert who(Writers([wrote("a"), wrote("b")]), "update", 7, AT_MS) == ""
    assert who(Writers([wrote("a"), wrote("a")]), "update", 7, AT_MS) == "a"


def wrote(user: str, verb: str, received_ms: int) -> Wrote:
    """A write of which the log has no answer, as at the level Metadata."""
    about = ABOUT
    return Wrote(
        user, verb, about.group, about.resource, about.namespace, about.name,
        AT_MS + received_ms, AT_MS + received_ms + 4, 0,
    )  # fmt: skip


def test_writes_of_one_second_are_told_apart_by_their_time() -> None:
    """Each revision is made within the time of its request."""
    found = Writers([wrote("a", "patch", 0), wrote("b", "patch", 120), wrote("a", "delete", 700)])
    made = [
        Change(5, "update", AT_MS + 2),
        Change(6, "update", AT_MS + 123),
        Change(7, "delete", AT_MS + 702),
    ]
    assert found.users(ABOUT, made) == {5: "a", 6: "b", 7: "a"}


def test_a_deletion_is_rather_that_of_a_request_to_delete() -> None:
    """A patch at the same moment may have removed a finalizer, and most have not."""
    found = Writers([wrote("a", "patch", 0), wrote("b", "delete", 2)])
    assert who(found, "delete", 7, AT_MS + 3) == "b"
    assert who(Writers([wrote("a", "patch", 0)]), "delete", 7, AT_MS + 3) == "a"


def test_a_write_counts_for_one_revision() -> None:
    """What a controller of the server does just after a request is not that request's."""
    found = Writers([wrote("a", "delete", 0)])
    made = [
        Change(5, "update", AT_MS + 1),
        Change(6, "update", AT_MS + 20),
        Change(7, "delete", AT_MS + 23),
    ]
    assert found.users(ABOUT, made) == {5: "a"}


def test_requests_for_a_namespace_are_in_it(tmp_path: Path) -> None:
    """Their events name it as the namespace too, which the object does not have."""
    about = {"resource": "namespaces", "namespace": "shop", "name": "shop"}
    found = writers(tmp_path, event("delete", "eve", objectRef=about))
    assert who(found, "update", 7, AT_MS + 150, Object("", "namespaces", "", "shop")) == "eve"


def test_collections_are_deleted_without_names(tmp_path: Path) -> None:
    """An event of deletecollection is about each object of the namespace."""
    about = {"resource": "deployments", "namespace": "shop", "apiGroup": "apps"}
    found = writers(tmp_path, event("deletecollection", "eve", objectRef=about))
    assert who(found, "delete", 7, AT_MS) == "eve"
    assert who(found, "delete", 7, AT_MS, ABOUT._replace(namespace="other")) == ""


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    """From a whole line on."""
    old, new = event("update", "old"), event("delete", "new")
    found = writers(tmp_path, old, new, most_bytes=len(json.dumps(new)) + 5)
    assert who(found, "update", 7, AT_MS) == "new"
