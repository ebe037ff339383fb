"""Devices of pods against a model, whatever happens and whenever the controllers are killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from killing import Killer, restarting
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.controllers.scheduler.devices.facts import FINALIZER
from kubetrio.server.parts import Parts
from kubetrio.store.model import Event, EventType
from kubetrio.testing.devices import claim, device, device_class, pod, resource_slice, template
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, pods_of

Object = dict[str, Any]
NAMES = ("resourceclaim-controller", "kube-scheduler", "garbage-collector-controller")
NODES = ("n0", "n1")
DEVICES = ("a", "b")
SHARED = ("c0", "c1")
"""Claims of a user, each for any number of pods."""


class Model:
    """Which pods there are.

    Attributes:
        pods: the claim that each names, empty for one of its own.
    """

    def __init__(self) -> None:
        self.pods: dict[str, str] = {}

    def check(self, pods: Sequence[Object], claims: Sequence[Object], *, killed: bool) -> None:
        """Compare with what is stored when all is quiet.

        Args:
            pods: all.
            claims: all.
            killed: whether controllers were killed, which may leave a finalizer that the next
                user of the claim, or its deletion, takes over; upstream leaves it too.
        """
        placed = {
            one["metadata"]["name"]
            for one in pods
            if one["spec"].get("nodeName") and one["metadata"]["name"] in self.pods
        }
        users = self._users(pods, claims)
        assert set().union(*users.values()) >= placed
        given = {one["metadata"]["name"] for one in claims if _results(one)}
        free = len(NODES) * len(DEVICES) - len(given)
        for name in sorted(self.pods.keys() - placed):
            assert not free, name
            assert self.pods[name] not in given, name
        for one in claims:
            name = one["metadata"]["name"]
            protected = FINALIZER in one["metadata"].get("finalizers", ())
            assert protected == (name in given) or (killed and protected)
            assert bool(users[name]) == (name in given)

    def _users(self, pods: Sequence[Object], claims: Sequence[Object]) -> dict[str, set[str]]:
        """For which pods each claim is reserved: pods of the model, and of that claim."""
        uids = {one["metadata"]["uid"]: one["metadata"]["name"] for one in pods}
        users = dict[str, set[str]]()
        for one in claims:
            name, meta = one["metadata"]["name"], one["metadata"]
            rows = (one.get("status") or {}).get("reservedFor") or ()
            users[name] = {uids[row["uid"]] for row in rows}
            assert users[name] <= self.pods.keys()
            if owners := meta.get("ownerReferences"):
                (owner,) = owners
                assert owner["name"] in self.pods, "the claim of a pod that is over"
                assert users[name] <= {owner["name"]}
            else:
                assert users[name] <= {key for key, shared in self.pods.items() if shared == name}
        own = [one for one in claims if one["metadata"].get("ownerReferences")]
        assert len(own) == sum(not shared for shared in self.pods.values())
        return users


def _results(claim_: Object) -> list[tuple[str, str]]:
    """The devices of a claim."""
    allocation = (claim_.get("status") or {}).get("allocation") or {"devices": {"results": []}}
    return [(one["pool"], one["device"]) for one in allocation["devices"]["results"]]


class Watching:
    """What must hold at each commit.

    Attributes:
        wrong: what did not.
        failures: exceptions of those that follow collections.
    """

    def __init__(self, server: InProcess) -> None:
        self.wrong: list[str] = []
        self.given: dict[str, list[tuple[str, str]]] = {}
        self.nodes: dict[str, str] = {}
        dispatcher = server.api.storage.informers.dispatcher
        self.failures = dispatcher.redelivery.failures
        dispatcher.subscribe("/registry/resourceclaims/", self.claim)
        dispatcher.subscribe("/registry/pods/", self.pod)

    def claim(self, event: Event) -> None:
        """Look at a claim."""
        old = self.given.pop(event.key, [])
        if event.type is EventType.DELETED:
            return
        obj: Object = orjson.loads(event.value)
        self.given[event.key] = new = _results(obj)
        devices = [one for rows in self.given.values() for one in rows]
        if len(devices) > len(set(devices)):
            self.wrong.append(f"given twice: {devices}")
        consumers = (obj.get("status") or {}).get("reservedFor") or ()
        for one in consumers:
            node = self.nodes.get(one["uid"], "")
            if node and new and new[0][0] != node:
                self.wrong.append(f"{one['name']} is on {node} with devices of {new}")
            if node and old and not new:
                self.wrong.append(f"{one['name']} lost its devices")

    def pod(self, event: Event) -> None:
        """Note where a pod is."""
        if event.type is not EventType.DELETED:
            obj: Object = orjson.loads(event.value)
            over = (obj.get("status") or {}).get("phase") == "Succeeded"
            self.nodes[obj["metadata"]["uid"]] = "" if over else obj["spec"].get("nodeName", "")


class World:
    """A server with two nodes of two devices each, and its model.

    Args:
        server: it.
        killer: of its controllers.
    """

    def __init__(self, server: InProcess, killer: Killer) -> None:
        self.client = server.client()
        self.killer = killer
        self.model = Model()
        self.watching = Watching(server)
        self._made = 0

    async def furnish(self) -> None:
        """Make all that pods need."""
        amounts = {"cpu": "8", "memory": "8Gi", "pods": "100"}
        for name in NODES:
            await self.client.create({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"capacity": amounts, "allocatable": amounts},
            })  # fmt: skip
            free = {"spec": {"taints": None}}
            await self.client.patch(self.client.kind("v1", "Node"), name, free)
            slices = resource_slice(name, *(device(one) for one in DEVICES), node=name)
            await self.client.create(slices)
        for obj in (device_class(), template(), *(claim(name) for name in SHARED)):
            await self.client.create(obj)

    async def play(self, what: str, number: int) -> None:
        """Have something happen, to the model too."""
        model, kind = self.model, self.client.kind("v1", "Pod")
        names = sorted(model.pods)
        name = names[number % len(names)] if names else ""
        shared = SHARED[number % len(SHARED)]
        match what:
            case "own" | "share":
                self._made += 1
                name = f"p{self._made}"
                model.pods[name] = shared if what == "share" else ""
                of = {"claim_name": shared} if what == "share" else {"template_name": "one"}
                await self.client.create(pod(name, **of))
            case "remove" if name:
                del model.pods[name]
                await self.client.delete(kind, name, NAMESPACE, gracePeriodSeconds=0)
            case "end" if name:
                del model.pods[name]
                over = {"status": {"phase": "Succeeded"}}
                await self.client.patch(kind, name, over, NAMESPACE, subresource="status")
            case "kill":
                self.killer.left = number

    async def settled(self) -> None:
        """Wait until all is quiet and back-offs are over, and compare."""
        for _ in range(3):
            await wait_all_tasks_blocked(0.002)
            await trio.sleep(20)
        await wait_all_tasks_blocked(0.002)
        assert not self.watching.wrong
        assert not self.watching.failures
        kind = self.client.kind("resource.k8s.io/v1", "ResourceClaim")
        claims = (await self.client.list(kind, NAMESPACE)).items
        self.model.check(await pods_of(self.client), claims, killed=bool(self.killer.kills))


Step = tuple[str, int]
WHAT = ("own", "own", "share", "share", "remove", "end", "kill")
Steps = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(1, 9)), max_size=16)


async def play_all(steps: Sequence[Step], at: int = 0) -> int:
    """Have things happen one after the other; returns how many writes that took.

    Args:
        steps: what happens.
        at: number of the write at which the controllers are killed.
    """
    killer = Killer()
    async with open_api(parts=Parts(admission=[killer])) as server:
        world = World(server, killer)
        await world.furnish()
        async with restarting(server, killer, *NAMES):
            await wait_all_tasks_blocked(0.002)
            killer.left, killer.count = at, 0
            for step in steps:
                await world.play(*step)
                await world.settled()
        return killer.count


@shortened(24)
@given(Steps)
def test_devices_are_given_as_in_the_model(steps: list[Step]) -> None:
    """Each to one claim, none while a pod waits that could have it."""
    trio.run(play_all, steps, clock=MockClock(autojump_threshold=0.01))


LIFE: tuple[Step, ...] = (
    ("own", 1),
    ("share", 0),
    ("share", 0),
    ("own", 1),
    ("own", 1),
    ("own", 1),
    ("remove", 0),
    ("end", 0),
    ("end", 0),
    ("remove", 0),
)
MOST = 50
DRAWN = (3, 12, 23, 36)


def test_the_life_has_as_many_writes_as_are_tried() -> None:
    """Else a write would be left out below."""
    count = trio.run(play_all, LIFE, clock=MockClock(autojump_threshold=0.01))
    assert MOST - 10 <= count < MOST


@pytest.mark.parametrize(
    "at", [at if at in DRAWN else pytest.param(at, marks=pytest.mark.slow) for at in range(1, MOST)]
)
def test_what_is_killed_at_a_write_goes_on(at: int) -> None:
    """Devices come to what the model says."""
    trio.run(play_all, LIFE, at, clock=MockClock(autojump_threshold=0.01))
