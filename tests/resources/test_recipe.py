"""Create, update and delete: what is filled in, kept, refused, tried again and stored."""

from __future__ import annotations

import orjson
import pytest
import trio

from kubetrio.resources import deciding
from kubetrio.resources.recipe import GENERATE_ATTEMPTS, UPDATE_ATTEMPTS
from kubetrio.store.model import EventType

from .world import (
    TARGET,
    WHO,
    Object,
    World,
    configmap,
    refused,
    shown,
)

# ---------------------------------------------------------------- create


async def test_admission_is_asked_before_and_behind(world: World) -> None:
    """Once each."""
    await world.create()
    assert world.spy.asked == [("mutate", "CREATE"), ("validate", "CREATE")]


async def test_a_taken_name_is_409(world: World) -> None:
    """And the object stays what it was."""
    await world.create(configmap({"a": "1"}))
    error = await refused(world.create(configmap({"a": "2"})))
    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert error.message == 'configmaps "n" already exists'
    assert world.kinds() == [EventType.CREATED]


async def test_the_name_of_a_dying_object_is_taken(world: World) -> None:
    """409 says that it is going away."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    error = await refused(world.create())
    assert error.message == 'object is being deleted: configmaps "n" already exists'


# ---------------------------------------------------------------- generated names


async def test_a_taken_generated_name_is_drawn_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a uid of its own each time; the client does not notice."""
    draws = iter(["aaaaa", "aaaaa", "bbbbb"])
    monkeypatch.setattr(deciding, "generated_suffix", lambda _: next(draws))
    first = await world.create(configmap(generateName="p-"))
    second = await world.create(configmap(generateName="p-"))
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("p-aaaaa", "p-bbbbb")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_names_run_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After eight draws: 409 with advice to come back (KEP-4420)."""
    draws: list[str] = []

    def draw(_: object) -> str:
        draws.append("aaaaa")
        return draws[-1]

    monkeypatch.setattr(deciding, "generated_suffix", draw)
    await world.create(configmap(generateName="p-"))
    draws.clear()
    error = await refused(world.create(configmap(generateName="p-")))
    assert len(draws) == GENERATE_ATTEMPTS == 8
    assert (error.code, error.reason, error.retry_after) == (409, "AlreadyExists", 1)
    assert error.message == (
        'configmaps "p-aaaaa" already exists, '
        "the server was not able to generate a unique name for the object"
    )


# ---------------------------------------------------------------- update


async def test_an_update_without_version_is_tried_again(world: World) -> None:
    """Somebody else was faster: the change is made again on the newer object."""
    await world.create()
    seen: list[str] = []

    async def change(old: Object | None) -> Object:
        assert old is not None
        seen.append(old["metadata"]["resourceVersion"])
        if len(seen) < 3:
            await world.touch()
        return configmap({"mine": seen[-1]})

    written = shown(await world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert seen == ["1", "2", "3"]
    assert written["data"] == {"mine": "3"}


async def test_an_update_with_version_is_409_when_it_is_old(world: World) -> None:
    """The client must look first; nothing is tried again."""
    made = await world.create()
    await world.touch()
    old = configmap({"a": "b"}, resourceVersion=made["metadata"]["resourceVersion"])
    error = await refused(world.update(old))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on configmaps "n": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_a_pinned_update_that_loses_the_race_is_409(world: World) -> None:
    """The version was right when it was checked, and not when it was written."""
    await world.create()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        await world.touch()
        return configmap({"a": "b"}, resourceVersion="1")

    error = await refused(world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert (error.code, error.reason, calls) == (409, "Conflict", 1)


async def test_a_patch_does_not_insist_on_the_version_it_was_made_from(world: World) -> None:
    """It is tried again when somebody else was faster, unless it names another version."""
    await world.create()
    seen: list[str] = []

    async def change(old: Object | None) -> Object:
        assert old is not None
        seen.append(old["metadata"]["resourceVersion"])
        if len(seen) == 1:
            await world.touch()
        return configmap({"mine": seen[-1]}, resourceVersion=seen[-1])

    update = world.operations.change
    written = shown(await update(TARGET, change, WHO, uid_is_precondition=False))
    assert (seen, written["data"]) == (["1", "2"], {"mine": "2"})
    other = world.update(configmap(resourceVersion="2"), uid_is_precondition=False)
    assert (await refused(other)).code == 409


async def test_an_update_that_never_wins_gives_up(world: World) -> None:
    """409 at last, not a loop without end."""
    await world.create()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        await world.touch()
        return configmap({"a": "b"})

    error = await refused(world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert (error.code, calls) == (409, UPDATE_ATTEMPTS)


async def test_identity_is_kept(world: World) -> None:
    """Whatever the client sends or leaves out."""
    made = await world.create(configmap(labels={"a": "b"}))
    sent = configmap({"k": "v"}, creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x")
    meta = (await world.update(sent))["metadata"]
    for member in ("uid", "creationTimestamp", "namespace"):
        assert meta[member] == made["metadata"][member]
    assert "labels" not in meta
    assert "selfLink" not in meta


async def test_a_uid_is_a_precondition_of_a_put(world: World) -> None:
    """409 for another object of the same name."""
    made = await world.create()
    error = await refused(world.update(configmap({"a": "b"}, uid="other")))
    assert error.code == 409
    assert f"UID in object meta: {made['metadata']['uid']}" in error.message


async def test_a_uid_in_a_patch_is_a_change(world: World) -> None:
    """And that field is immutable: 422."""
    await world.create()
    call = world.update(configmap({"a": "b"}, uid="other"), uid_is_precondition=False)
    error = await refused(call)
    assert error.code == 422
    assert "field is immutable" in error.message


async def test_a_malformed_version_is_an_error_of_the_server(world: World) -> None:
    """500, as kube-apiserver has it."""
    await world.create()
    error = await refused(world.update(configmap(resourceVersion="abc")))
    assert (error.code, error.message) == (500, 'strconv.ParseUint: parsing "abc": invalid syntax')


async def test_admission_is_asked_again_on_each_try(world: World) -> None:
    """It must see what will be stored."""
    await world.create()
    world.spy.asked.clear()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        if calls == 1:
            await world.touch()
        return configmap({"a": "b"})

    await world.operations.change(TARGET, change, WHO, uid_is_precondition=True)
    assert world.spy.asked == [("mutate", "UPDATE"), ("validate", "UPDATE")] * 2


async def test_concurrent_updates_all_count(world: World) -> None:
    """No change of unpinned writers is lost."""
    await world.create()

    async def add(number: int) -> None:
        async def change(old: Object | None) -> Object:
            assert old is not None
            await trio.lowlevel.checkpoint()
            return configmap({**old.get("data", {}), f"k{number}": "v"})

        await world.operations.change(TARGET, change, WHO, uid_is_precondition=True)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(add, number)
    found = await world.store.get(TARGET.key)
    assert found is not None
    assert set(orjson.loads(found.value)["data"]) == {f"k{number}" for number in range(8)}


# ---------------------------------------------------------------- dry run


# ---------------------------------------------------------------- delete


# ---------------------------------------------------------------- generations


# ---------------------------------------------------------------- time to live
