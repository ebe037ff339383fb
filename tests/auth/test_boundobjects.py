"""Objects that tokens of service accounts are bound to."""

from __future__ import annotations

import pytest
from accounttokens import (
    World,
)


@pytest.mark.parametrize("role", ["serviceaccount", "pod", "secret", "node"])
async def test_a_token_ends_with_what_it_is_bound_to(world: World, role: str) -> None:
    """With the next request after the deletion, and also when another one of that name came."""
    plural = f"{role}s"
    uid = await world.add("serviceaccounts", "a")
    bound = {}
    if role != "serviceaccount":
        bound[role] = {"name": "b", "uid": await world.add(plural, "b")}
    name = "b" if bound else "a"
    token = world.sign(world.claims(uid, bound))
    assert await world.ask(token) is not None
    await world.remove(plural, name)
    gone = (
        "service account token has been invalidated" if bound else 'serviceaccounts "a" not found'
    )
    assert await world.refused(token) == gone
    again = await world.add(plural, name)
    told = await world.refused(token)
    assert again in told
    assert "does not match" in told


@pytest.mark.parametrize("role", ["serviceaccount", "pod", "secret", "node"])
async def test_what_is_being_deleted_counts_for_a_minute(world: World, role: str) -> None:
    """From its deletionTimestamp on, which is ahead for pods that have time to end."""
    plural = f"{role}s"
    uid = await world.add("serviceaccounts", "a")
    bound = {}
    if role != "serviceaccount":
        bound[role] = {"name": "b", "uid": await world.add(plural, "b")}
    token = world.sign(world.claims(uid, bound))
    await world.ask(token)
    # 2027-01-15T08:00:30Z is half a minute after NOW
    await world.change(plural, "b" if bound else "a", {"deletionTimestamp": "2027-01-15T08:00:30Z"})
    world.now += 90
    assert await world.ask(token) is not None
    world.now += 1
    told = await world.refused(token)
    expected = "has been invalidated" if bound else "service account ns/a has been deleted"
    assert told.endswith(expected)


async def test_a_change_of_an_object_is_no_end(world: World) -> None:
    """Only its identity matters."""
    token = world.sign(world.claims(await world.add("serviceaccounts", "a")))
    await world.ask(token)
    await world.change("serviceaccounts", "a", {"labels": {"x": "y"}})
    assert await world.ask(token) is not None
