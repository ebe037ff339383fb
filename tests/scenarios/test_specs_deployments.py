"""What Kubernetes' e2e specs ask of Deployments, step by step, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps/deployment.go (1.36); nothing else
of it.
"""

from __future__ import annotations

import random  # noqa: TID251  (a fixed course)
from functools import partial
from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster, template
from specs import Specs, scaled, until_observed, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
BACK = "deprecated.deployment.rollback.to"


def image(name: str) -> Object:
    """A change of the image of a workload's pods."""
    return {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}


def size(found: Object, where: str = "spec", name: str = "replicas") -> int:
    """A number of an object's spec or status, 0 where there is none."""
    return int((found.get(where) or {}).get(name) or 0)


def bare(found: Object) -> Object:
    """The template of a ReplicaSet or Deployment, without the hash."""
    made: Object = found["spec"]["template"]
    labels = {key: made["metadata"]["labels"][key] for key in made["metadata"]["labels"]}
    labels.pop(HASH, None)
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


async def sets(there: Cluster) -> tuple[Object | None, list[Object]]:
    """The Deployment's ReplicaSet of its template, None for none, and its others."""
    owner = await there.get("Deployment", "d")
    ours = [
        one
        for one in await there.all_of("ReplicaSet")
        if owner["metadata"]["uid"]
        in [ref["uid"] for ref in one["metadata"].get("ownerReferences") or () if ref["controller"]]
    ]
    new = [one for one in ours if bare(one) == bare(owner)]
    return (new[0] if new else None), [one for one in ours if one not in new[:1]]


async def new_set(there: Cluster) -> Object:
    """The ReplicaSet of the Deployment's template; it is there."""
    new, _ = await sets(there)
    assert new is not None
    return new


def at_revision(found: Object, revision: str, what: str) -> bool:
    """Whether a Deployment or ReplicaSet has a revision and an image."""
    notes = found["metadata"].get("annotations") or {}
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return notes.get(REVISION) == revision and container["image"] == what


async def until_revision(there: Cluster, revision: str, what: str) -> None:
    """Wait until the Deployment and its new ReplicaSet have a revision and an image."""

    async def rolled() -> bool:
        new, _ = await sets(there)
        owner = await there.get("Deployment", "d")
        return new is not None and all(at_revision(one, revision, what) for one in (owner, new))

    await there.until(rolled)
    assert HASH in (await new_set(there))["metadata"]["labels"]


async def until_rolled(there: Cluster, *, least: int = 0, most: int = 1000) -> None:
    """Wait until the Deployment is complete.

    Args:
        there: the cluster.
        least: available pods, below which it is an error.
        most: wanted pods of all its ReplicaSets, above which it is an error.
    """

    async def complete() -> bool:
        new, old = await sets(there)
        found = await there.get("Deployment", "d")
        assert sum(map(size, [*old, *([new] if new else [])])) <= most
        assert size(found, "status", "availableReplicas") >= least
        counts = ("replicas", "updatedReplicas", "availableReplicas")
        seen = size(found, "status", "observedGeneration") >= found["metadata"]["generation"]
        return seen and all(size(found, "status", one) == size(found) for one in counts)

    await there.until(complete)


async def older_set(there: Cluster, what: str = "i", **annotations: str) -> None:
    """Make a ReplicaSet that the Deployment will adopt, and wait for its pod.

    Args:
        there: the cluster.
        what: the image of its pod.
        annotations: of it; ``revision`` is the revision.
    """
    pods = template("d", image=what)
    pods["metadata"]["labels"]["pod"] = "older"
    notes = {REVISION: annotations["revision"]} if annotations else {}
    labels = pods["metadata"]["labels"]
    await there.make("ReplicaSet", "older", metadata={"labels": labels, "annotations": notes},
                     spec={"replicas": 1, "selector": {"matchLabels": labels},
                           "template": pods})  # fmt: skip
    await until_running(there, "d", 1)


def spread(surge: int, unavailable: int) -> Object:
    """A strategy of rolling updates."""
    bounds = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": bounds}


@spec("Deployment deployment reaping should cascade to its replica sets and pods")
async def _reaping(there: Cluster) -> None:
    written = there.written("Deployment", "d", replicas=1)
    last = "kubectl.kubernetes.io/last-applied-configuration"
    written["metadata"]["annotations"] = {"test": "copied", last: "not-copied"}
    await there.client.create(written)
    await until_revision(there, "1", "i")
    await until_rolled(there)
    notes = (await new_set(there))["metadata"]["annotations"]
    assert (notes["test"], notes.get(last)) == ("copied", None)
    await there.remove("Deployment", "d", propagationPolicy="Background")

    async def gone() -> object:
        return not await there.all_of("ReplicaSet") and not await there.all_of("Pod")

    await there.until(gone)
    assert await there.find("Deployment", "d") is None


@spec("Deployment RollingUpdateDeployment should delete old pods and create new ones")
async def _rolling(there: Cluster) -> None:
    await older_set(there, revision="3546343826724305832")
    old = await there.names("Pod", "d")
    await there.workload("Deployment", "d", replicas=1)
    await until_revision(there, "3546343826724305833", "i")
    await until_rolled(there, least=0, most=2)
    _, others = await sets(there)
    assert [(one["metadata"]["name"], size(one)) for one in others] == [("older", 0)]
    await there.until_ready("d", 1)
    assert await there.names("Pod", "d") != old


@spec("Deployment RecreateDeployment should delete old pods and create new ones")
async def _recreate(there: Cluster) -> None:
    await there.workload("Deployment", "d", replicas=2, strategy={"type": "Recreate"},
                         said={"stop-seconds": "5"})  # fmt: skip
    await until_revision(there, "1", "i")
    await until_rolled(there)
    since = await there.now("Deployment")
    changed = await there.change("Deployment", "d", spec=image("new"))

    def over(_: str, found: Object) -> bool:
        counts = [size(found, "status", one) for one in ("replicas", "updatedReplicas")]
        assert not counts[1] or counts[0] == counts[1], "old and new pods are there together"
        seen = size(found, "status", "observedGeneration") >= changed["metadata"]["generation"]
        return seen and counts[1] == size(found)

    await there.until_event("Deployment", since, over)
    assert {one["spec"]["containers"][0]["image"] for one in await there.all_of("Pod")} == {"new"}


@spec("Deployment deployment should delete old replica sets")
async def _history(there: Cluster) -> None:
    await older_set(there)
    since = await there.now("Pod")
    await there.workload("Deployment", "d", replicas=1, revisionHistoryLimit=0)
    await until_rolled(there)

    async def alone() -> object:
        return not (await sets(there))[1]

    await there.until(alone)
    assert await there.find("ReplicaSet", "older") is None
    await there.pod("last")
    added: list[Object] = []

    def last(type_: str, found: Object) -> bool:
        added.extend([found] if type_ == "ADDED" else [])
        return bool(found["metadata"]["name"] == "last")

    await there.until_event("Pod", since, last)
    assert len(added) == 2, "more than one pod was made"
    assert added[0]["spec"]["containers"][0]["name"] == "c"


@spec("Deployment deployment should support rollover")
async def _rollover(there: Cluster) -> None:
    await older_set(there)
    await there.until_ready("d", 1)
    written = there.written("Deployment", "d", replicas=1, minReadySeconds=10,
                            said={"state": "image-pull-back-off"},
                            strategy=spread(1, 0), pods={"image": "nonexistent"})  # fmt: skip
    created = await there.client.create(written)

    async def updated() -> object:
        found = await there.get("Deployment", "d")
        seen = size(found, "status", "observedGeneration") >= created["metadata"]["generation"]
        return seen and size(found, "status", "updatedReplicas") >= 1

    await there.until(updated)
    await until_revision(there, "1", "nonexistent")
    first = (await new_set(there))["metadata"]["name"]

    async def sizes(name: str) -> tuple[int, int]:
        found = await there.get("ReplicaSet", name)
        return size(found), size(found, "status")

    assert await sizes("older") == await sizes(first) == (1, 1)
    well = image("new")
    well["template"]["metadata"] = {"annotations": {f"{SAID}state": None}}
    await there.change("Deployment", "d", spec=well)
    await until_observed(there, "Deployment", "d")
    await until_revision(there, "2", "new")
    await until_rolled(there, least=1, most=2)
    assert await sizes("older") == await sizes(first) == (0, 0)


def _resize(read: Object, dice: random.Random) -> None:
    """Give a Deployment another size, or not."""
    drawn = dice.random()
    if drawn < 0.3:
        read["spec"]["replicas"] += 1
    elif drawn < 0.6 and read["spec"]["replicas"] > 1:
        read["spec"]["replicas"] -= 1


def _edit(what: int, number: int, dice: random.Random, read: Object) -> None:
    """Change a Deployment in one of four ways: roll out, roll back, scale, pause or resume."""
    if what == 0:
        (container,) = read["spec"]["template"]["spec"]["containers"]
        more = {"name": f"A{number}", "value": str(number)}
        container["env"] = [*(container.get("env") or ()), more]
    elif what == 1:
        read["metadata"].setdefault("annotations", {})[BACK] = "0"
        return
    elif what == 3:
        read["spec"]["paused"] = not read["spec"].get("paused")
    _resize(read, dice)


@spec("Deployment iterative rollouts should eventually progress")
async def _iterative(there: Cluster) -> None:
    dice = random.Random(36)
    await there.workload("Deployment", "d", replicas=6, progressDeadlineSeconds=300,
                         revisionHistoryLimit=2,
                         pods={"terminationGracePeriodSeconds": 0})  # fmt: skip
    for number in range(20):
        if (drawn := dice.random()) < 0.6:
            await trio.sleep(number * drawn)
        if (what := dice.randrange(5)) < 4:
            await there.updated("Deployment", "d", partial(_edit, what, number, dice))
            continue
        for name in await there.names("Pod", "d"):
            if dice.random() >= 0.5 and await there.find("Pod", name):
                await there.remove("Pod", name, gracePeriodSeconds=0)
    await there.updated("Deployment", "d", lambda read: read["spec"].update(paused=False))
    await until_observed(there, "Deployment", "d")
    await until_rolled(there)

    async def progressed() -> object:
        found = await there.condition("Deployment", "d", "Progressing")
        return found.get("reason") == "NewReplicaSetAvailable"

    await there.until(progressed)


@spec("Deployment test Deployment ReplicaSet orphaning and adoption regarding controllerRef")
async def _orphaning(there: Cluster) -> None:
    await there.workload("Deployment", "d", replicas=1)
    await until_rolled(there)

    async def only() -> Object:
        (found,) = await there.all_of("ReplicaSet")
        return found

    def owners(found: Object) -> list[str]:
        refs = found["metadata"].get("ownerReferences") or ()
        return [one["uid"] for one in refs if one["controller"]]

    first = await only()
    assert owners(first) == [(await there.get("Deployment", "d"))["metadata"]["uid"]]
    await there.remove("Deployment", "d", propagationPolicy="Orphan")

    async def orphaned() -> object:
        return await there.find("Deployment", "d") is None and not owners(await only())

    await there.until(orphaned)
    written = there.written("Deployment", "d", replicas=1)
    written["metadata"]["name"] = "adopter"
    adopter = await there.client.create(written)

    async def adopted() -> object:
        return owners(await only()) == [adopter["metadata"]["uid"]]

    await there.until(adopted)
    assert (await only())["metadata"]["uid"] == first["metadata"]["uid"]
    found = await until_observed(there, "Deployment", "adopter")
    assert size(found, "status", "availableReplicas") == 1


@spec("Deployment Deployment should have a working scale subresource")
async def _scale(there: Cluster) -> None:
    await there.workload("Deployment", "d", replicas=1)
    await until_revision(there, "1", "i")
    await until_rolled(there)
    await scaled(there, "Deployment", "d")


@spec("Deployment deployment should support proportional scaling")
async def _proportional(there: Cluster) -> None:
    await there.workload("Deployment", "d", replicas=10, strategy=spread(3, 2))
    await until_observed(there, "Deployment", "d")
    await until_running(there, "d", 10)
    await until_rolled(there)
    first = (await new_set(there))["metadata"]["name"]
    broken = image("webserver:404")
    broken["template"]["metadata"] = {"annotations": {f"{SAID}state": "image-pull-back-off"}}
    await there.change("Deployment", "d", spec=broken)
    await until_observed(there, "Deployment", "d")

    async def until_sized(name: str, wanted: int, **counts: int) -> None:
        async def sized() -> object:
            found = await there.get("ReplicaSet", name)
            settled = all(size(found, "status", one) == counts[one] for one in counts)
            return size(found) == wanted and settled

        await there.until(sized)

    await until_sized(first, 8, availableReplicas=8, replicas=8)
    second = (await new_set(there))["metadata"]["name"]
    await until_sized(second, 5, availableReplicas=0, replicas=5)
    assert size(await there.get("Deployment", "d"), "status", "availableReplicas") >= 8
    await there.updated("Deployment", "d", lambda read: read["spec"].update(replicas=30))
    await until_sized(first, 20)
    await until_sized(second, 13)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_deployments(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
