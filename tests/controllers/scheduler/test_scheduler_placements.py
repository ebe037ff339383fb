"""Whatever is made and deleted, every placement is valid when it is made.

The reference model knows pods and nodes as JSON, and checks the rules in the plainest way there is.
"""

from __future__ import annotations

import random  # noqa: TID251  (seeded by hypothesis)
from dataclasses import replace
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from kubetrio.config import Simulation
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, pods_of

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = "topology.kubernetes.io/zone"
APPS = ("a", "b")
CPUS, PODS = 4, 5


def node(rng: random.Random, name: str) -> Object:
    """A node with room for a few pods."""
    taints = [{"key": "gpu", "effect": "NoSchedule"}] if rng.random() < 0.3 else []
    amounts = {"cpu": str(CPUS), "memory": "8Gi", "pods": str(PODS)}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: rng.choice("xy")}},
        "spec": {"taints": taints},
        "status": {"capacity": amounts, "allocatable": amounts},
    }  # fmt: skip


def pod(rng: random.Random, name: str) -> Object:
    """A pod that asks for something."""
    spec: Object = {"terminationGracePeriodSeconds": 0}
    requests = {"requests": {"cpu": str(rng.choice([1, 1, 2]))}}
    spec["containers"] = [{"name": "c", "image": "i", "resources": requests}]
    selector = {"matchLabels": {"app": rng.choice(APPS)}}
    if rng.random() < 0.3:
        term = {"labelSelector": selector, "topologyKey": ZONE}
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    if rng.random() < 0.4:
        spec["topologySpreadConstraints"] = [{
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector, "nodeTaintsPolicy": "Ignore",
        }]  # fmt: skip
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    meta = {"name": name, "namespace": NAMESPACE, "labels": {"app": rng.choice(APPS)}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def selected(pods: list[Object], selector: Object) -> list[Object]:
    """Those pods that have a label."""
    return [
        one for one in pods if one["metadata"]["labels"]["app"] == selector["matchLabels"]["app"]
    ]


def broken(new: Object, pods: list[Object], nodes: dict[str, Object]) -> str:
    """Which rule a placement breaks, empty for none.

    Args:
        new: the pod that was placed.
        pods: all that have nodes, and it.
        nodes: by name.
    """
    name = new["spec"]["nodeName"]
    zone = {key: one["metadata"]["labels"][ZONE] for key, one in nodes.items()}
    own = zone[name]
    others = [one for one in pods if one is not new]
    there = [one for one in pods if one["spec"]["nodeName"] == name]
    used = sum(int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for one in there)
    if used > CPUS or len(there) > PODS:
        return "room"
    if nodes[name]["spec"].get("taints") and not any(
        one.get("key") == "gpu" for one in new["spec"].get("tolerations") or ()
    ):
        return "taints"
    for one, about in [(new, others), *((other, [new]) for other in others)]:
        anti = (one["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        here = zone[one["spec"]["nodeName"]]
        near = [two for two in about if zone[two["spec"]["nodeName"]] == here]
        if any(selected(near, term["labelSelector"]) for term in anti.get(REQUIRED) or ()):
            return "anti-affinity"
    for constraint in new["spec"].get("topologySpreadConstraints") or ():
        counts = dict.fromkeys(zone.values(), 0)
        for one in selected(others, constraint["labelSelector"]):
            counts[zone[one["spec"]["nodeName"]]] += 1
        itself = len(selected([new], constraint["labelSelector"]))
        if counts[own] + itself - min(counts.values()) > constraint["maxSkew"]:
            return "spread"
    return ""


async def play(server: InProcess, rng: random.Random) -> None:
    """Make nodes, and make and delete pods one at a time; look at each placement."""
    client = server.client()
    nodes: dict[str, Object] = {}
    kind = client.kind("v1", "Node")
    for name in ("n0", "n1", "n2"):
        nodes[name] = node(rng, name)
        await client.create(nodes[name])
        await client.patch(kind, name, {"spec": {"taints": nodes[name]["spec"]["taints"] or None}})
    placed: set[str] = set()
    for step in range(25):
        name = f"p{step}"
        if rng.random() < 0.3 and step:
            gone = rng.choice(await pods_of(client))["metadata"]["name"]
            await client.delete(client.kind("v1", "Pod"), gone, NAMESPACE, gracePeriodSeconds=0)
            placed.discard(gone)
        else:
            await client.create(pod(rng, name))
        await trio.sleep(0.3)
        with_nodes = [one for one in await pods_of(client) if one["spec"].get("nodeName")]
        new = [one for one in with_nodes if one["metadata"]["name"] not in placed]
        if len(new) == 1:
            assert broken(new[0], with_nodes, nodes) == ""
        assert all(broken_room(name, with_nodes) == "" for name in nodes)
        placed |= {one["metadata"]["name"] for one in new}
    assert placed


def broken_room(name: str, pods: list[Object]) -> str:
    """Whether a node has too much on it, whenever that came."""
    there = [one for one in pods if one["spec"]["nodeName"] == name]
    used = sum(int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for one in there)
    return "room" if used > CPUS or len(there) > PODS else ""


@settings(max_examples=8)
@given(seed=st.integers(0, 1 << 32))
def test_placements_are_valid(seed: int) -> None:
    """By room, taints, anti-affinity of both sides and spread."""

    async def main() -> None:
        async with open_api(seed=seed) as server:
            config = replace(server.config, simulation=Simulation(nodes=0))
            async with running(server, "kube-scheduler", config=config):
                await play(server, random.Random(seed))

    trio.run(main, clock=MockClock(autojump_threshold=0))
