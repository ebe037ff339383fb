"""Who wrote a revision is told by what the write did to managedFields."""

from typing import Any

import pytest

from kubetrio.machinery.lastwriter import writer_of

AT = "2026-05-01T10:00:00Z"
NEXT = "2026-05-01T10:00:05Z"


def entry(manager: str, time: str, *names: str) -> dict[str, Any]:
    """An entry that owns members of ``data``."""
    fields = {"f:data": {".": {}} | {f"f:{name}": {} for name in names}}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}


def state(data: dict[str, str], *entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}, "data": data}


ONE = state({"a": "1"}, entry("first", AT, "a"))
TWO = state({"a": "1", "b": "1"}, entry("first", AT, "a"), entry("second", AT, "b"))


@pytest.mark.parametrize(
    ("before", "after", "at", "writer"),
    [
        (ONE, TWO, AT, "second"),
        (TWO, state({"a": "2", "b": "1"}, *TWO["metadata"]["managedFields"]), AT, "first"),
        (TWO, state({"a": "1", "b": "2"}, *TWO["metadata"]["managedFields"]), AT, "second"),
        (TWO, state({"a": "1", "b": "1"}, *TWO["metadata"]["managedFields"]), AT, ""),
        (ONE, state({"a": "2"}, entry("first", NEXT, "a")), NEXT, "first"),
        (TWO, state({"a": "2"}, entry("first", AT), entry("second", AT, "a", "b")), AT, "second"),
        (TWO, state({"a": "1"}, entry("first", AT, "a")), NEXT, ""),
        (None, ONE, AT, "first"),
        (None, ONE, NEXT, ""),
        (None, TWO, AT, ""),
    ],
)  # fmt: skip
def test_the_writer_is_who_made_or_changed_an_entry(
    before: dict[str, Any] | None, after: dict[str, Any], at: str, writer: str
) -> None:
    """Not who is named last, nor the first of equal times."""
    assert writer_of(before, after, at) == writer


def test_a_map_is_owned_by_those_who_own_its_members() -> None:
    """An entry that is left with the map alone did not write what others own in it."""
    empty = {"manager": "first", "operation": "Update", "time": AT, "fieldsV1": {"f:data": {}}}
    before = state({"b": "1"}, empty, entry("second", AT, "b"))
    after = state({"b": "2"}, empty, entry("second", AT, "b"))
    assert writer_of(before, after, AT) == "second"


def test_an_entry_without_a_time_may_be_the_writers() -> None:
    """As that of a manager that scales: its field changed."""
    scaled = {"manager": "m", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}}
    before = state({"a": "1", "b": "1"}, scaled, entry("other", AT, "b"))
    after = state({"a": "2", "b": "1"}, scaled, entry("other", AT, "b"))
    assert writer_of(before, after, AT) == "m"
    assert (
        writer_of(before, state({"a": "1", "b": "2"}, *after["metadata"]["managedFields"]), AT)
        == "other"
    )


def test_an_atomic_map_is_owned_as_a_whole() -> None:
    """Where no entry owns its members, the one that owns the map wrote it."""
    owner = {"manager": "m", "operation": "Update", "time": AT, "fieldsV1": {"f:data": {}}}
    assert writer_of(state({"b": "1"}, owner), state({"b": "2"}, owner), AT) == "m"


def test_who_created_an_object_is_named_whenever_that_was() -> None:
    """The clocks of writes and of the store need not agree."""
    assert writer_of(None, ONE, "", created=True) == "first"


def test_items_are_compared_by_their_keys() -> None:
    """Paths through list maps and sets."""
    key = 'k:{"name":"a"}'
    fields = {"f:spec": {"f:items": {key: {".": {}, "f:image": {}}}, "f:set": {'v:"x"': {}}}}
    owner = {"manager": "m", "operation": "Apply", "time": AT, "fieldsV1": fields}

    def made(image: str, *others: str) -> dict[str, Any]:
        items = [{"name": name} for name in others] + [{"name": "a", "image": image}]
        return {
            "metadata": {"managedFields": [owner]},
            "spec": {"items": items, "set": ["x", *others]},
        }

    assert writer_of(made("1"), made("2"), AT) == "m"
    assert writer_of(made("1"), made("1", "b"), AT) == ""
