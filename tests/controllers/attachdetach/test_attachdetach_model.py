"""Volumes on nodes against a model, whatever happens and whenever the controllers are killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from killing import Killer, restarting
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.controllers.attachdetach.attachdetach import LONGEST_UNMOUNT_S
from kubetrio.server.parts import Parts
from kubetrio.simulation.nodeobjects import MANAGED
from kubetrio.store.model import Event, EventType
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, pods_of

Object = dict[str, Any]
NAMES = (
    "persistentvolume-attach-detach-controller",
    "simulated-attachment-controller",
    "simulated-pod-controller",
)
DRIVER = "disk.example"
NODES = ("n0", "n1", "n2")
VOLUMES = ("alone", "shared")
"""One that is on one node at a time, and one for many."""
ERROR = "simulation.kubetrio.io/attach-error"
OUT = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


@dataclass(slots=True)
class ModelNode:
    """What the model knows of a node.

    Args:
        lost: whether its kubelet is silent.
        out: whether a taint says that it does not come back.
        in_use: volumes that its kubelet said last to have in use.
    """

    lost: bool = False
    out: bool = False
    in_use: set[str] = field(default_factory=set)


class Model:
    """Where volumes are, by the words of the documentation.

    Attributes:
        pods: node and volume, by name.
        nodes: by name.
        held: nodes that have a volume, or are to have it.
        since: when a volume was first not wanted any longer where it is held.
        fails: volumes that cannot be attached.
    """

    def __init__(self) -> None:
        self.pods: dict[str, tuple[str, str]] = {}
        self.nodes = {name: ModelNode() for name in NODES}
        self.held: dict[str, set[str]] = {name: set() for name in VOLUMES}
        self.since: dict[tuple[str, str], float] = {}
        self.fails: set[str] = set()

    def wants(self, node: str, volume: str) -> bool:
        """Whether a pod wants a volume on a node."""
        return (node, volume) in self.pods.values()

    def settle(self, now: float) -> None:
        """Let kubelets tell what they have in use, and volumes go that may."""
        for name, node in self.nodes.items():
            if not node.lost:
                node.in_use = {volume for there, volume in self.pods.values() if there == name}
        for volume, nodes in self.held.items():
            for name in sorted(nodes):
                if self.wants(name, volume):
                    self.since.pop((name, volume), None)
                elif self.goes(name, volume, now):
                    nodes.discard(name)
                    self.since.pop((name, volume), None)
        for volume in VOLUMES:
            wanting = {name for name in NODES if self.wants(name, volume)}
            if volume == "shared":
                self.held[volume] |= wanting
            elif len(wanting) == 1 and not self.held[volume]:
                self.held[volume] = wanting

    def goes(self, name: str, volume: str, now: float) -> bool:
        """Whether a volume is detached that is not wanted."""
        node, since = self.nodes[name], self.since.setdefault((name, volume), now)
        if volume not in node.in_use or node.out:
            return True
        return node.lost and now - since >= LONGEST_UNMOUNT_S


class Watching:
    """What must hold at each commit.

    Attributes:
        wrong: what did not.
        failures: exceptions of those that follow collections.
    """

    def __init__(self, server: InProcess) -> None:
        self.wrong: list[str] = []
        self.attachments: dict[str, tuple[str, str]] = {}
        self.attached: set[tuple[str, str]] = set()
        self.told: dict[str, set[str]] = {}
        dispatcher = server.api.storage.informers.dispatcher
        self.failures = dispatcher.redelivery.failures
        dispatcher.subscribe("/registry/volumeattachments/", self.attachment)
        dispatcher.subscribe("/registry/minions/", self.node)

    def attachment(self, event: Event) -> None:
        """Look at a VolumeAttachment."""
        if event.type is EventType.DELETED:
            node, volume = self.attachments.pop(event.key)
            self.attached.discard((node, volume))
            if volume in self.told.get(node, ()):
                self.wrong.append(f"{node} is still told of {volume}")
            return
        obj: Object = orjson.loads(event.value)
        node = obj["spec"]["nodeName"]
        volume = obj["spec"]["source"]["persistentVolumeName"]
        self.attachments[event.key] = node, volume
        if (obj.get("status") or {}).get("attached"):
            self.attached.add((node, volume))
        nodes = {there for there, one in self.attachments.values() if one == volume}
        if volume == "alone" and len(nodes) > 1:
            self.wrong.append(f"{volume} is on {sorted(nodes)}")

    def node(self, event: Event) -> None:
        """Look at a node."""
        obj: Object = orjson.loads(event.value)
        name = obj["metadata"]["name"]
        rows = (obj.get("status") or {}).get("volumesAttached") or ()
        self.told[name] = {row["name"].partition("^")[2] for row in rows}
        for volume in self.told[name]:
            if (name, volume) not in self.attached:
                self.wrong.append(f"{name} is told of {volume} too early")


class World:
    """A server with three nodes, a driver and two volumes, and its model.

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
        said = {"simulation.kubetrio.io/node": "true", MANAGED: "true"}
        for number, name in enumerate(NODES):
            await self.client.create({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "annotations": said},
                "spec": {"podCIDR": f"100.64.{number}.0/24"},
                "status": {
                    "addresses": [{"type": "InternalIP", "address": f"198.18.0.{number + 1}"}],
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            })  # fmt: skip
        await self.client.create({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": DRIVER, "annotations": {"simulation.kubetrio.io/driver": "true"}},
            "spec": {},
        })  # fmt: skip
        for name in VOLUMES:
            await self._bind(name)

    async def _bind(self, name: str) -> None:
        """Make a volume and a claim of one name."""
        mode = "ReadWriteMany" if name == "shared" else "ReadWriteOnce"
        bound = await self.client.create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"accessModes": [mode], "volumeName": name, "storageClassName": "",
                     "resources": {"requests": {"storage": "1Gi"}}},
        })  # fmt: skip
        reference = {"namespace": NAMESPACE, "name": name, "uid": bound["metadata"]["uid"]}
        await self.client.create({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": [mode],
                     "csi": {"driver": DRIVER, "volumeHandle": name},
                     "claimRef": reference, "storageClassName": ""},
        })  # fmt: skip
        kind = self.client.kind("v1", "PersistentVolumeClaim")
        phase = {"status": {"phase": "Bound"}}
        await self.client.patch(kind, name, phase, NAMESPACE, subresource="status")

    # ------------------------------------------------------------------ what happens

    async def play(self, what: str, node: str, volume: str, number: int) -> None:
        """Have something happen, to the model too."""
        model, kind = self.model, self.client.kind("v1", "Pod")
        there = sorted(name for name, place in model.pods.items() if place == (node, volume))
        match what:
            case "use":
                self._made += 1
                await self.use(f"p{self._made}", node, volume)
            case "remove" if there:
                grace = {"gracePeriodSeconds": 0} if model.nodes[node].lost else {}
                del model.pods[there[0]]
                await self.client.delete(kind, there[0], NAMESPACE, **grace)
            case "end" if there:
                del model.pods[there[0]]
                over = {"status": {"phase": "Succeeded"}}
                await self.client.patch(kind, there[0], over, NAMESPACE, subresource="status")
            case "lose" | "return":
                await self.switch(node, lost=what == "lose")
            case "out":
                await self.take_out(node)
            case "fail" | "mend":
                await self.fail(volume, fails=what == "fail")
            case "wait":
                await trio.sleep(200)
            case "kill":
                self.killer.left = number

    async def use(self, name: str, node: str, volume: str) -> None:
        """Make a pod with a volume on a node."""
        self.model.pods[name] = node, volume
        data = {"name": "data", "persistentVolumeClaim": {"claimName": volume}}
        await self.client.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeName": node, "volumes": [data],
                     "containers": [{"name": "c", "image": "i"}]},
        })  # fmt: skip

    async def switch(self, name: str, *, lost: bool) -> None:
        """Have a node be silent, or come back."""
        node, kind = self.model.nodes[name], self.client.kind("v1", "Node")
        node.lost = lost
        state = {"simulation.kubetrio.io/state": "lost" if lost else None}
        condition = {"type": "Ready", "status": "Unknown" if lost else "True"}
        ready = {"status": {"conditions": [condition]}}
        change: Object = {"metadata": {"annotations": state}}
        if not lost:
            node.out = False
            change["spec"] = {"taints": None}
        else:
            await self.client.patch(kind, name, change)
        await self.client.patch(kind, name, ready, subresource="status")
        if not lost:
            await self.client.patch(kind, name, change)

    async def take_out(self, name: str) -> None:
        """Say of a lost node that it does not come back."""
        if self.model.nodes[name].lost:
            self.model.nodes[name].out = True
            change = {"spec": {"taints": [OUT]}}
            await self.client.patch(self.client.kind("v1", "Node"), name, change)

    async def fail(self, volume: str, *, fails: bool) -> None:
        """Have a volume be one that cannot be attached, or can again."""
        (self.model.fails.add if fails else self.model.fails.discard)(volume)
        said = {"metadata": {"annotations": {ERROR: "no quota" if fails else None}}}
        await self.client.patch(self.client.kind("v1", "PersistentVolume"), volume, said)

    # ------------------------------------------------------------------ what is seen

    async def settled(self) -> None:
        """Wait until all is quiet, and compare."""
        now = trio.current_time()
        await wait_all_tasks_blocked(0.002)
        await trio.sleep(1)
        await wait_all_tasks_blocked(0.002)
        held = {volume: set[str]() for volume in VOLUMES}
        for node, volume in self.watching.attachments.values():
            held[volume].add(node)
        for at in self.killer.kills:  # controllers that begin anew count from then on
            for (node, volume), since in self.model.since.items():
                # What was due at that moment may have gone before.
                if node in held[volume] or at - since < LONGEST_UNMOUNT_S:
                    self.model.since[node, volume] = max(at, since)
        self.model.settle(now)
        assert not self.watching.wrong
        assert not self.watching.failures
        if not self.model.held["alone"] and held["alone"]:
            # Of several nodes that want it, any may get it.
            assert all(self.model.wants(name, "alone") for name in held["alone"])
            self.model.held["alone"] = held["alone"]
        wanting = any(self.model.wants(name, "alone") for name in NODES)
        assert bool(held["alone"]) >= wanting
        assert held == self.model.held
        for pod in await pods_of(self.client):
            await self._look_at(pod)

    async def _look_at(self, pod: Object) -> None:
        """Compare whether a pod runs."""
        name, running = pod["metadata"]["name"], pod["status"]["phase"] == "Running"
        if name not in self.model.pods:
            assert pod["status"]["phase"] == "Succeeded"
            return
        place = self.model.pods[name]
        attached = place in self.watching.attached and place[1] in self.watching.told[place[0]]
        if running:
            assert attached
        elif not self.model.nodes[place[0]].lost:
            assert not attached
            assert place[1] in self.model.fails or place[0] not in self.model.held[place[1]]


WHAT = ("use", "use", "use", "remove", "end", "lose", "return", "out", "fail", "mend", "wait")
Steps = st.lists(
    st.tuples(
        st.sampled_from([*WHAT, "kill", "kill"]),
        st.sampled_from(NODES),
        st.sampled_from(VOLUMES),
        st.integers(1, 6),
    ),
    max_size=16,
)
Step = tuple[str, str, str, int]


async def play_all(steps: Sequence[Step], at: int = 0) -> tuple[object, int]:
    """Have things happen one after the other; returns what there is then, and writes.

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
        return (world.model.held, world.watching.told), killer.count


@shortened(24)
@given(Steps)
def test_volumes_are_where_the_model_has_them(steps: list[Step]) -> None:
    """One node at a time has the volume that is to be alone, and tells of no other."""
    trio.run(play_all, steps, clock=MockClock(autojump_threshold=0.01))


LIFE: tuple[Step, ...] = (
    ("use", "n0", "alone", 0),
    ("use", "n1", "alone", 0),
    ("use", "n1", "shared", 0),
    ("remove", "n0", "alone", 0),
    ("lose", "n1", "alone", 0),
    ("remove", "n1", "alone", 0),
    ("use", "n2", "alone", 0),
    ("wait", "n0", "alone", 0),
    ("wait", "n0", "alone", 0),
    ("wait", "n0", "alone", 0),
    ("end", "n2", "alone", 0),
    ("wait", "n0", "alone", 0),
    ("wait", "n0", "alone", 0),
)


@pytest.fixture(scope="module")
def undisturbed() -> tuple[object, int]:
    """What there is in the end when nothing is killed, and how many writes that takes."""
    return trio.run(play_all, LIFE, clock=MockClock(autojump_threshold=0.01))


def test_the_life_has_as_many_writes_as_are_tried(undisturbed: tuple[object, int]) -> None:
    """Else a write would be left out below."""
    assert undisturbed[1] < MOST


MOST = 60
DRAWN = (5, 17, 29, 40)
"""Writes at which each run kills; 29 lies between telling the node and deleting an attachment."""


@pytest.mark.parametrize(
    "at", [at if at in DRAWN else pytest.param(at, marks=pytest.mark.slow) for at in range(1, MOST)]
)
def test_what_is_killed_at_a_write_goes_on(at: int, undisturbed: tuple[object, int]) -> None:
    """Volumes come to the same places."""
    seen, _ = trio.run(play_all, LIFE, at, clock=MockClock(autojump_threshold=0.01))
    assert seen == undisturbed[0]
