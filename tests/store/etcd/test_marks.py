"""Marks of a change, by which etcd's history is known again."""

from __future__ import annotations

import json

import pytest

from kubetrio.env import seeded
from kubetrio.store.etcd.client import ClientSettings, open_client
from kubetrio.store.etcd.marks import AnotherHistory, Mark, UnknownHistory, compare
from kubetrio.store.etcd.requests import Event, KeyValue
from kubetrio.testing.etcdmodel import etcd_model

KV = KeyValue(b"/t/\xff", b"secret", 7, 3, 2, 9)
GONE = Event(KeyValue(b"/t/a", b"", 8, 0, 0), deleted=True, previous=KV)
SETTINGS = ClientSettings(endpoints=["http://a"])


@pytest.mark.parametrize(
    "mark",
    [
        Mark.of_change(Event(KV, deleted=False, previous=None)),
        Mark.of_change(GONE),
        Mark.of_change(GONE._replace(previous=None)),
        Mark.of_state(KV, 12),
    ],
)
def test_a_mark_comes_back_from_json(mark: Mark) -> None:
    """With no value in it."""
    text = json.dumps(mark.to_json())
    assert b"secret".hex() not in text
    back = Mark.from_json(json.loads(text))
    if mark.kv is not None:  # of a deletion, the key is said once
        assert back.kv == mark.kv._replace(key=mark.key)
    assert back[1:] == mark[1:]


@pytest.mark.parametrize("text", ["[]", "null", '["zz", 0, 1, null]', '["", 0, 1, []]'])
def test_what_is_no_mark(text: str) -> None:
    """Is refused."""
    with pytest.raises((ValueError, TypeError)):
        Mark.from_json(json.loads(text))


def test_a_state_without_keys_has_no_mark() -> None:
    """As of an etcd that is empty."""
    assert Mark.of_state(None, 4) is None


@pytest.mark.parametrize("gone", [False, True])
async def test_a_change_that_is_there(*, gone: bool) -> None:
    """Also when the key was changed since, until that is compacted."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        model.put(b"/t/a", b"1")
        if gone:
            model.delete(b"/t/a")
        mark = Mark.of_change(model.save().history[-1])
        told = model.revision
        await compare(client, mark, told)
        model.put(b"/t/a", b"2")
        await compare(client, mark, told)
        model.compact(model.revision)
        with pytest.raises(UnknownHistory):
            await compare(client, mark, told)


@pytest.mark.parametrize("gone", [False, True])
async def test_a_change_that_is_not_there(*, gone: bool) -> None:
    """Because a snapshot was restored: revisions are older, or other values have them."""
    async with etcd_model() as model, open_client(SETTINGS, seeded(1), dial=model.dial) as client:
        model.put(b"/t/a", b"1")
        snapshot = model.save()
        told = model.delete(b"/t/a") if gone else model.put(b"/t/a", b"2")
        mark = Mark.of_change(model.save().history[-1])
        model.restore(snapshot)
        with pytest.raises(AnotherHistory, match="at revision"):
            await compare(client, mark, told)
        model.put(b"/t/a", b"3")
        model.put(b"/t/b", b"3")
        with pytest.raises(AnotherHistory, match="another state"):
            await compare(client, mark, told)
