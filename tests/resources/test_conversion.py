"""Conversion that waits: the step itself, and reads of a made-up kind over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError
from kubetrio.resources.conversion import (
    as_far_as_possible,
    from_stored,
    shown_values,
    to_stored,
)
from kubetrio.resources.objects import restamp, stamp
from kubetrio.schema.kind import Kind
from kubetrio.testing.client import Client
from kubetrio.testing.converting import Webhook, refused, things
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
V1 = "/apis/example.com/v1/namespaces/default/things"
V2 = "/apis/example.com/v2/namespaces/default/things"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
METADATA = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
METADATA_LIST = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
INVALID = "returned invalid object at index 0"
SHOWN = {"shown-as": "v2"}


def thing(name: str, size: int = 1, **meta: Any) -> Object:
    """A thing as it is stored."""
    return {
        "kind": "Thing",
        "apiVersion": "example.com/v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **meta},
        "spec": {"size": size},
    }


@pytest.fixture
def webhook() -> Webhook:
    """Converts things, at once and well."""
    return Webhook()


@pytest.fixture
def kinds(webhook: Webhook) -> tuple[Kind, Kind]:
    """Things as they are stored, and in the other version."""
    return things(webhook)


# ---------------------------------------------------------------- the step


async def test_a_batch_is_one_call(kinds: tuple[Kind, Kind], webhook: Webhook) -> None:
    """However many objects; they come back in their order."""
    _, other = kinds
    made = await from_stored(other, [thing(str(number), number) for number in range(5)])
    assert [obj["spec"] for obj in made] == [{"length": number} for number in range(5)]
    assert webhook.calls == [5]


async def test_what_is_in_the_version_already_is_left_alone(
    kinds: tuple[Kind, Kind], webhook: Webhook
) -> None:
    """It is not sent, and keeps its place between the others."""
    _, other = kinds
    there = {**thing("b"), "apiVersion": "example.com/v2", "spec": {"length": 7}}
    made = await from_stored(other, [thing("a"), there, thing("c")])
    assert [obj["metadata"]["name"] for obj in made] == ["a", "b", "c"]
    assert made[1] is there
    assert webhook.calls == [2]


async def test_nothing_is_asked_about_nothing(kinds: tuple[Kind, Kind], webhook: Webhook) -> None:
    """An empty page, or objects of the version asked for."""
    _, other = kinds
    assert await shown_values(other, []) == []
    assert webhook.calls == []


async def test_the_stored_version_needs_no_conversion(
    kinds: tuple[Kind, Kind], webhook: Webhook
) -> None:
    """Objects are themselves in both directions."""
    stored, _ = kinds
    obj = thing("a")
    assert (await from_stored(stored, [obj]))[0] is obj
    assert await to_stored(stored, obj) is obj
    assert webhook.calls == []


def test_nobody_gets_a_conversion_that_waits_without_waiting(kinds: tuple[Kind, Kind]) -> None:
    """The synchronous functions refuse."""
    _, other = kinds
    with pytest.raises(ValueError, match="waited for"):
        other.from_stored(thing("a"))
    with pytest.raises(ValueError, match="waited for"):
        other.to_stored(thing("a"))


async def test_values_look_like_stored_ones(kinds: tuple[Kind, Kind]) -> None:
    """Identity first, then metadata, whose version is found and replaced without a parser."""
    _, other = kinds
    value = stamp(thing("a", labels={"x": "y"})).at(12)
    [shown] = await shown_values(other, [value])
    assert shown.startswith(b'{"kind":"Thing","apiVersion":"example.com/v2","metadata":{')
    meta = orjson.loads(restamp(shown).at(34))["metadata"]
    assert (meta["resourceVersion"], meta["labels"]) == ("34", {"x": "y"})


async def test_of_metadata_only_labels_and_annotations_are_converted(
    kinds: tuple[Kind, Kind],
) -> None:
    """Everything else is as it was, whatever comes back."""
    _, other = kinds
    [made] = await from_stored(other, [thing("a", finalizers=["f/f"])])
    assert made["metadata"] == {**thing("a", finalizers=["f/f"])["metadata"], "annotations": SHOWN}


Mangle = Callable[[list[Object]], list[Object]]


def with_meta(**meta: Any) -> Mangle:
    return lambda objects: [{**obj, "metadata": {**obj["metadata"], **meta}} for obj in objects]


@pytest.mark.parametrize(
    ("mangle", "words"),
    [
        (lambda objects: objects[1:], "returned 1 objects, expected 2"),
        (lambda objects: objects * 2, "returned 4 objects, expected 2"),
        (
            lambda objects: [{**obj, "apiVersion": "example.com/v3"} for obj in objects],
            f"{INVALID}: invalid groupVersion (expected example.com/v2, received example.com/v3)",
        ),
        (
            lambda objects: [{**obj, "kind": "Thong"} for obj in objects],
            f"{INVALID}: invalid kind (expected Thing, received Thong)",
        ),
        (with_meta(name="x"), "returned invalid object: must have the same name: a != x"),
        (
            with_meta(namespace="x"),
            "returned invalid object: must have the same namespace: default != x",
        ),
        (with_meta(uid="x"), "returned invalid object: must have the same UID: uid-a != x"),
    ],
)
async def test_what_cannot_be_an_answer(
    kinds: tuple[Kind, Kind], webhook: Webhook, mangle: Mangle, words: str
) -> None:
    """500 in kube-apiserver's words."""
    _, other = kinds
    webhook.mangle = mangle
    with pytest.raises(ApiError) as caught:
        await from_stored(other, [thing("a"), thing("b")])
    assert (caught.value.code, caught.value.message) == (
        500,
        f"conversion webhook for example.com/v1, Kind=Thing {words}",
    )


async def test_events_are_shown_as_far_as_they_can_be(
    kinds: tuple[Kind, Kind], webhook: Webhook
) -> None:
    """Those in front of the first that fails, and why it did; of all of them one call is tried."""
    _, other = kinds
    webhook.refuses = lambda obj: "no" if obj["metadata"]["name"] == "c" else ""
    values = [[stamp(thing(name)).at(1)] for name in "abcd"]
    made, failed = await as_far_as_possible(other, values)
    assert [orjson.loads(value)["metadata"]["name"] for [value] in made] == ["a", "b"]
    assert failed is not None
    assert (failed.code, failed.reason, failed.message) == (
        500,
        "InternalError",
        refused("no").message,
    )
    assert webhook.calls == [4, 1, 1, 1]


async def test_events_that_can_all_be_shown_are_one_call(
    kinds: tuple[Kind, Kind], webhook: Webhook
) -> None:
    """Each with as many values as it has."""
    _, other = kinds
    value = stamp(thing("a")).at(1)
    made, failed = await as_far_as_possible(other, [[value, value], [value]])
    assert ([len(some) for some in made], failed) == ([2, 1], None)
    assert webhook.calls == [3]


# ---------------------------------------------------------------- reads


@pytest.fixture
async def stored(server: InProcess, kinds: tuple[Kind, Kind]) -> InProcess:
    """A server of things, with five of them."""
    server.api.storage.registry.add(kinds)
    for number, name in enumerate("abcde"):
        labels = {"size": "large" if number > 2 else "small"}
        obj = thing(name, number, creationTimestamp="2020-01-01T00:00:00Z", labels=labels)
        await server.api.storage.store.create(kinds[0].key("default", name), stamp(obj))
    return server


@pytest.fixture
async def reader(stored: InProcess) -> AsyncIterator[Client]:
    """A connection to it."""
    async with stored.connect() as connected:
        yield connected


def lengths(answer: Any) -> dict[str, int]:
    """What a list in the other version shows."""
    assert answer.status == 200, answer.body
    return {obj["metadata"]["name"]: obj["spec"]["length"] for obj in answer.json()["items"]}


async def test_one_object_is_read_in_either_version(reader: Client, webhook: Webhook) -> None:
    """The stored one without a conversion."""
    plain = (await reader.request("GET", V1 + "/b")).json()
    assert (plain["spec"], webhook.calls) == ({"size": 1}, [])
    other = (await reader.request("GET", V2 + "/b")).json()
    assert (other["apiVersion"], other["spec"]) == ("example.com/v2", {"length": 1})
    assert other["metadata"] == {**plain["metadata"], "annotations": SHOWN}
    assert webhook.calls == [1]


async def test_a_page_is_one_call(reader: Client, webhook: Webhook) -> None:
    """Each object is converted once, in the call of its page."""
    assert lengths(await reader.request("GET", V2)) == dict(zip("abcde", range(5), strict=True))
    assert webhook.calls == [5]
    first = await reader.request("GET", V2 + "?limit=2")
    assert lengths(first) == {"a": 0, "b": 1}
    token = first.json()["metadata"]["continue"]
    assert first.json()["metadata"]["remainingItemCount"] == 3
    assert lengths(await reader.request("GET", V2 + f"?limit=3&continue={token}")) == {
        "c": 2,
        "d": 3,
        "e": 4,
    }
    assert webhook.calls == [5, 2, 3]


async def test_no_list_of_the_stored_version_is_converted(reader: Client, webhook: Webhook) -> None:
    """Whatever it looks like."""
    for headers in ({}, TABLE, METADATA_LIST):
        assert (await reader.request("GET", V1, headers=headers)).status == 200
    assert webhook.calls == []


async def test_selectors_look_at_what_is_shown(reader: Client, webhook: Webhook) -> None:
    """A conversion may change labels, and kube-apiserver selects behind it."""
    webhook.mangle = with_meta(labels={"size": "huge"})
    assert lengths(await reader.request("GET", V2 + "?labelSelector=size%3Dsmall")) == {}
    assert len(lengths(await reader.request("GET", V2 + "?labelSelector=size%3Dhuge"))) == 5
    chosen = await reader.request("GET", V1 + "?labelSelector=size%3Dsmall")
    assert len(chosen.json()["items"]) == 3


@pytest.mark.parametrize(
    ("path", "headers", "find"),
    [
        ("/a", METADATA, lambda got: got["metadata"]),
        ("", METADATA_LIST, lambda got: got["items"][0]["metadata"]),
        ("/a", TABLE, lambda got: got["rows"][0]["object"]["metadata"]),
        ("", TABLE, lambda got: got["rows"][0]["object"]["metadata"]),
        ("?includeObject=Object", TABLE, lambda got: got["rows"][0]["object"]["metadata"]),
    ],
)
async def test_every_shape_is_made_of_what_is_shown(
    reader: Client, path: str, headers: dict[str, str], find: Callable[[Any], Object]
) -> None:
    """Metadata alone and rows of tables too: a conversion may change labels and annotations."""
    answer = await reader.request("GET", V2 + path, headers=headers)
    assert answer.status == 200, answer.body
    assert find(answer.json())["annotations"] == SHOWN


async def test_rows_carry_objects_of_the_version(reader: Client) -> None:
    """Where they are asked for."""
    answer = await reader.request("GET", V2 + "?includeObject=Object", headers=TABLE)
    assert [row["object"]["spec"] for row in answer.json()["rows"]][:2] == [
        {"length": 0},
        {"length": 1},
    ]


@pytest.mark.parametrize("query", ["", "?limit=4", "?labelSelector=size", "?includeObject=None"])
@pytest.mark.parametrize("headers", [{}, TABLE, {"accept": "application/yaml"}])
async def test_a_list_with_an_object_that_fails_is_an_error(
    reader: Client, webhook: Webhook, query: str, headers: dict[str, str]
) -> None:
    """The third of a page fails: a Status, and nothing of the list."""
    webhook.refuses = lambda obj: "no" if obj["metadata"]["name"] == "c" else ""
    answer = await reader.request("GET", V2 + query, headers={**headers})
    assert answer.status == 500
    assert refused("no").message.encode() in answer.body
    assert lengths(await reader.request("GET", V2 + "?limit=2")) == {"a": 0, "b": 1}


async def test_a_large_list_fails_as_a_whole_too(
    stored: InProcess, reader: Client, kinds: tuple[Kind, Kind], webhook: Webhook
) -> None:
    """Though it is streamed: its last page is converted before the answer begins."""
    for number in range(250):
        obj = thing(f"x{number:03}", annotations={"a": "y" * 8000})
        await stored.api.storage.store.create(kinds[0].key("default", f"x{number:03}"), stamp(obj))
    assert len(lengths(await reader.request("GET", V2))) == 255
    webhook.refuses = lambda obj: "no" if obj["metadata"]["name"] == "x249" else ""
    assert (await reader.request("GET", V2)).status == 500


async def test_a_deletion_of_all_converts_before_it_deletes(
    reader: Client, webhook: Webhook
) -> None:
    """A list that cannot be shown deletes nothing; one that can shows what was there."""
    webhook.refuses = lambda _: "no"
    assert (await reader.request("DELETE", V2)).status == 500
    webhook.refuses = lambda _: ""
    assert len(lengths(await reader.request("GET", V2))) == 5
    assert len(lengths(await reader.request("DELETE", V2))) == 5
    assert lengths(await reader.request("GET", V2)) == {}


async def test_a_deletion_shows_the_version_asked_for(
    reader: Client, stored: InProcess, kinds: tuple[Kind, Kind]
) -> None:
    """Of an object that finalizers hold."""
    held = thing("held", 9, creationTimestamp="2020-01-01T00:00:00Z", finalizers=["f/f"])
    await stored.api.storage.store.create(kinds[0].key("default", "held"), stamp(held))
    gone = (await reader.request("DELETE", V2 + "/held")).json()
    assert (gone["apiVersion"], gone["spec"]) == ("example.com/v2", {"length": 9})
    assert gone["metadata"]["deletionTimestamp"]


async def test_a_slow_conversion_waits_for_nobody_else(
    reader: Client, stored: InProcess, webhook: Webhook, autojump_clock: MockClock
) -> None:
    """Other lists are answered meanwhile, of the same kind too."""
    del autojump_clock
    webhook.seconds = 20
    begun, done = trio.current_time(), []

    async def read() -> None:
        done.append(lengths(await reader.request("GET", V2)))

    async with stored.connect() as second, trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        assert webhook.under_way == 1
        assert len((await second.request("GET", V1)).json()["items"]) == 5
        assert (done, trio.current_time()) == ([], begun)
    assert (len(done), trio.current_time() - begun) == (1, 20)
