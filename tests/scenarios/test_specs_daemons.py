"""What Kubernetes' e2e specs ask of DaemonSets, step by step, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps/daemon_set.go (1.36); nothing else
of it.
"""

from __future__ import annotations

import random  # noqa: TID251  (a fixed course)
from collections import Counter, defaultdict
from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster, is_ready, revision
from specs import Specs
from trio.testing import MockClock

from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]
SPECS = spec = Specs()
HASH = "controller-revision-hash"
COLOR = "daemonset-color"
BOTH = ("node-0", "node-1")
MIN_READY_S = 10
OVERLAP_S = 60
ROLLING = {"type": "RollingUpdate"}


async def until_daemons(there: Cluster, *nodes: str) -> None:
    """Wait until just these nodes have a daemon, which is ready, and the DaemonSet says so."""
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")

    async def exact() -> bool:
        ready = [one["spec"]["nodeName"] for one in await there.ready("d")]
        status = (await there.get("DaemonSet", "d")).get("status") or {}
        left = len(await there.all_of("Pod", "d")) == len(nodes)
        told = all((status.get(one) or 0) == len(nodes) for one in counts)
        return left and sorted(ready) == [*nodes] and told

    await there.until(exact)


async def current_revision(there: Cluster, number: int) -> str:
    """Wait until there are so many revisions; returns the hash of the last of them."""

    async def made() -> object:
        return len(await there.all_of("ControllerRevision")) == number

    await there.until(made)
    last = max(await there.all_of("ControllerRevision"), key=lambda one: int(one["revision"]))
    assert last["revision"] == number
    return str(last["metadata"]["labels"][HASH])


async def hashes(there: Cluster) -> set[str]:
    """The revisions of the daemons that stay."""
    return {
        one["metadata"]["labels"][HASH]
        for one in await there.all_of("Pod", "d")
        if "deletionTimestamp" not in one["metadata"]
    }


def image_of(pod: Object) -> str:
    """The image of a daemon."""
    return str(pod["spec"]["containers"][0]["image"])


def image(name: str, **said: str | None) -> Object:
    """A change of the image of the daemons, and of what the simulation is told of them."""
    notes = {f"{SAID}{key}": said[key] for key in said}
    containers = [{"name": "c", "image": name}]
    return {"template": {"metadata": {"annotations": notes}, "spec": {"containers": containers}}}


async def until_image(there: Cluster, name: str, unavailable: int) -> None:
    """Wait until each node has a daemon of an image, with at most so many that are unavailable."""

    async def updated() -> bool:
        pods = [one for one in await there.all_of("Pod", "d")
                if "deletionTimestamp" not in one["metadata"]]  # fmt: skip
        assert sum(not is_ready(one) for one in pods) <= unavailable
        return {one["spec"].get("nodeName") for one in pods if image_of(one) == name} == {*BOTH}

    await there.until(updated)


async def colored(there: Cluster, color: str | None) -> None:
    """Give a node a color, or none."""
    changed = await there.change("Node", "node-0", metadata={"labels": {COLOR: color}})
    assert changed["metadata"]["labels"].get(COLOR) == color


@spec("Daemon set should run and stop simple daemon")
async def _simple(there: Cluster) -> None:
    await there.workload("DaemonSet", "d")
    await until_daemons(there, *BOTH)
    (pod, _) = await there.names("Pod", "d")
    await there.remove("Pod", pod)
    await trio.sleep(1)
    await until_daemons(there, *BOTH)
    assert pod not in await there.names("Pod", "d")


@spec("Daemon set should run and stop complex daemon")
async def _selected(there: Cluster) -> None:
    await there.workload("DaemonSet", "d", pods={"nodeSelector": {COLOR: "blue"}})
    await until_daemons(there)
    await colored(there, "blue")
    await until_daemons(there, "node-0")
    await colored(there, "green")
    await until_daemons(there)
    await there.patch("DaemonSet", "d", {"spec": {
        "template": {"spec": {"nodeSelector": {COLOR: "green"}}}, "updateStrategy": ROLLING,
    }})  # fmt: skip
    await until_daemons(there, "node-0")


@spec("Daemon set should run and stop complex daemon with node affinity")
async def _affine(there: Cluster) -> None:
    row = {"key": COLOR, "operator": "In", "values": ["blue"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [row]}]}
    node = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    await there.workload("DaemonSet", "d", pods={"affinity": {"nodeAffinity": node}})
    await until_daemons(there)
    await colored(there, "blue")
    await until_daemons(there, "node-0")
    await colored(there, None)
    await until_daemons(there)


@spec("Daemon set should retry creating failed daemon pods")
async def _failed(there: Cluster) -> None:
    await there.workload("DaemonSet", "d")
    await until_daemons(there, *BOTH)
    pod = (await there.all_of("Pod", "d"))[0]
    pod["metadata"].pop("resourceVersion")
    pod["status"]["phase"] = "Failed"
    await there.client.update(pod, subresource="status")

    async def deleted() -> object:
        return await there.find("Pod", pod["metadata"]["name"]) is None

    await there.until(deleted)
    await until_daemons(there, *BOTH)


@spec("Daemon set should not update pod when spec was updated and update strategy is OnDelete")
async def _on_delete(there: Cluster) -> None:
    await there.workload("DaemonSet", "d", updateStrategy={"type": "OnDelete"})
    await until_daemons(there, *BOTH)
    first = await current_revision(there, 1)
    assert await hashes(there) == {first}
    await there.patch("DaemonSet", "d", {"spec": image("new")})
    await trio.sleep(60)
    await until_image(there, "i", 0)
    await until_daemons(there, *BOTH)
    assert await current_revision(there, 2) != first
    assert await hashes(there) == {first}


@spec("Daemon set should update pod when spec was updated and update strategy is RollingUpdate")
async def _rolls(there: Cluster) -> None:
    made = await there.workload("DaemonSet", "d", updateStrategy=ROLLING)
    revision(made)
    await until_daemons(there, *BOTH)
    assert await hashes(there) == {await current_revision(there, 1)}
    before = await there.get("DaemonSet", "d")
    patched = await there.patch("DaemonSet", "d", {"spec": image("new")})
    assert revision(patched) > revision(before)
    await until_image(there, "new", 1)
    await until_daemons(there, *BOTH)
    assert await hashes(there) == {await current_revision(there, 2)}


@spec("Daemon set should rollback without unnecessary restarts")
async def _back(there: Cluster) -> None:
    await there.workload("DaemonSet", "d", updateStrategy=ROLLING)
    await until_daemons(there, *BOTH)
    await there.change("DaemonSet", "d", spec=image("broken", state="image-pull-back-off"))

    async def begun() -> object:
        return "broken" in map(image_of, await there.all_of("Pod", "d"))

    await there.until(begun)
    await trio.sleep(60)
    pods = {one["metadata"]["name"]: image_of(one) for one in await there.all_of("Pod", "d")}
    assert sorted(pods.values()) == ["broken", "i"]
    await there.change("DaemonSet", "d", spec=image("i", state=None))
    await until_image(there, "i", 1)
    kept = {name for name, what in pods.items() if what == "i"}
    assert kept <= set(await there.names("Pod", "d"))


class Surge:
    """What must be so at any moment while daemons surge, and the course of deletions beside it.

    Args:
        there: the cluster.
    """

    def __init__(self, there: Cluster) -> None:
        self.there = there
        self.dice = random.Random(36)
        self.killed: set[str] = set()  # uids of pods that were deleted from outside
        self.beside: dict[str, float] = {}  # since when an old pod has a newer one on its node
        self.done = 0  # how often it intervened

    def available(self, pod: Object) -> bool:
        """Whether a pod stays and has been ready for long enough."""
        rows = (pod.get("status") or {}).get("conditions") or ()
        at = [one["lastTransitionTime"] for one in rows
              if (one["type"], one["status"]) == ("Ready", "True")]  # fmt: skip
        if "deletionTimestamp" in pod["metadata"] or not at:
            return False
        return self.there.server.env.now() - parse_time(at[0]) >= MIN_READY_S

    def check(self, pods: list[Object]) -> bool:
        """Check a moment; returns whether the rollout is over."""
        here: dict[str, Counter[str]] = defaultdict(Counter)  # versions that stay, by node
        going: Counter[str] = Counter()
        for pod in pods:
            node = pod["spec"].get("nodeName") or ""
            if "deletionTimestamp" not in pod["metadata"]:
                here[node][image_of(pod)] += 1
            elif pod["metadata"]["uid"] not in self.killed:
                going[node] += 1
        assert all(count <= 1 for node in BOTH for count in here[node].values())
        assert all(going[node] <= 1 for node in BOTH)
        assert {image_of(pod) for pod in pods} <= {"i", "new"}
        sick = [pod for pod in pods if not self.available(pod)]
        new = [pod for pod in sick if image_of(pod) == "new"]
        killed = sum(pod["metadata"]["uid"] in self.killed for pod in new)
        bare = sum(not here[node]["i"] for node in BOTH)
        assert len(new) <= 1 + (len(sick) - len(new)) + killed + bare
        self._overlap(pods, here)
        updated = all((here[node]["new"], here[node]["i"]) == (1, 0) for node in BOTH)
        return updated and not new and not going

    def _overlap(self, pods: list[Object], here: dict[str, Counter[str]]) -> None:
        """Check that no old pod stays long beside a newer one."""
        now = trio.current_time()
        old = {pod["metadata"]["uid"] for pod in pods
               if image_of(pod) == "i" and "deletionTimestamp" not in pod["metadata"]
               and here[pod["spec"].get("nodeName") or ""]["new"]}  # fmt: skip
        self.beside = {uid: self.beside.get(uid, now) for uid in old}
        assert all(now - since <= OVERLAP_S for since in self.beside.values())

    async def intervene(self, pods: list[Object]) -> None:
        """Make an old pod unready, delete any pod, or do nothing, which is the most usual."""
        drawn = self.dice.randrange(12)
        stay = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        old = [pod for pod in stay if image_of(pod) == "i"]
        if drawn == 0 and old:
            sick = {"annotations": {f"{SAID}state": "not-ready"}}
            await self.there.change("Pod", old[0]["metadata"]["name"], metadata=sick)
        elif drawn == 1 and stay:
            pod = self.dice.choice(stay)
            self.killed.add(pod["metadata"]["uid"])
            await self.there.remove("Pod", pod["metadata"]["name"])
        else:
            return
        self.done += 1


@spec(
    "Daemon set should surge pods onto nodes when spec was updated and update strategy is RollingUpdate"  # noqa: E501
)
async def _surges(there: Cluster) -> None:
    surge = {"maxSurge": "20%", "maxUnavailable": 0}
    await there.workload("DaemonSet", "d", said={"ready-seconds": "7", "stop-seconds": "15"},
                         minReadySeconds=MIN_READY_S,
                         updateStrategy={**ROLLING, "rollingUpdate": surge})  # fmt: skip
    await until_daemons(there, *BOTH)
    assert await hashes(there) == {await current_revision(there, 1)}
    await trio.sleep(MIN_READY_S)
    await there.patch("DaemonSet", "d", {"spec": image("new")})
    course = Surge(there)

    async def rolled() -> bool:
        pods = await there.all_of("Pod", "d")
        if course.check(pods):
            return True
        await course.intervene(pods)
        return False

    await there.until(rolled)
    assert course.done
    await until_daemons(there, *BOTH)
    assert await hashes(there) == {await current_revision(there, 2)}


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_daemons(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
