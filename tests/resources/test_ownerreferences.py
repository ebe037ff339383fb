"""Owners that are named twice."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.testing.client import Client

Object = dict[str, Any]
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def owner(uid: str, **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, **more}


@pytest.mark.parametrize(
    ("given", "kept", "named"),
    [
        ([], [], None),
        ([owner("a")], [owner("a")], None),
        ([owner("a"), owner("b")], [owner("a"), owner("b")], None),
        ([owner("a"), owner("a", name="q")], [owner("a"), owner("a", name="q")], None),
        (
            [owner("a"), owner("a", controller=False)],
            [owner("a"), owner("a", controller=False)],
            None,
        ),
        ([owner("a"), owner("b"), owner("a")], [owner("a"), owner("b")], "a"),
        (
            [owner("b"), owner("a"), owner("a", name="q"), owner("a"), owner("b"), owner("a")],
            [owner("b"), owner("a"), owner("a", name="q")],
            "a, b, a",
        ),
    ],
)
def test_the_first_of_equal_owners_stays(given: Any, kept: Any, named: str | None) -> None:
    """Those that share no more than the uid all do."""
    warnings: list[str] = []
    obj: Object = {"metadata": {"ownerReferences": given}}
    drop_repeated_owners(obj, warnings.extend, admitted=False)
    assert obj["metadata"]["ownerReferences"] == kept
    assert [text.rpartition(": ")[2] for text in warnings] == ([] if named is None else [named])


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {}}])
def test_objects_without_owners(obj: Object) -> None:
    """They are left alone."""
    before = dict(obj)
    drop_repeated_owners(obj, lambda _: None, admitted=True)
    assert obj == before


WORDS = (
    "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
    "please fix your requests; duplicate UID(s) observed: u"
)
CONTAINS = ".metadata.ownerReferences contains duplicate entries"


@pytest.mark.parametrize(
    ("method", "media", "when"),
    [
        ("POST", "json", ""),
        ("PUT", "json", ""),
        ("PATCH", "merge-patch+json", " after mutating admission happens"),
    ],
)
async def test_a_write_with_repeated_owners(
    client: Client, method: str, media: str, when: str
) -> None:
    """One stays, is owned once, and the client hears of the others; a patch later than the rest."""
    twice = {"metadata": {"name": "n", "ownerReferences": [owner("u"), owner("u")]}}
    path = CONFIGMAPS
    if method != "POST":
        await client.request("POST", path, json={"metadata": {"name": "n"}})
        path += "/n"
    headers = {"Content-Type": f"application/{media}"}
    answer = await client.request(method, path, headers, orjson.dumps(twice))
    assert answer.json()["metadata"]["ownerReferences"] == [owner("u")]
    assert answer.head.get(b"warning") == f'299 - "{CONTAINS}{when}{WORDS}"'.encode()
