"""Controllers of workloads that are killed at any write, and begin anew from what is stored.

What they remember is gone then; what they come to is what they come to undisturbed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import trio
from examples import some_of
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.client.client import Client
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import (
    NAMESPACE,
    make_end,
    make_ready,
    pods_of,
    template,
    workload,
)

Object = dict[str, Any]
NAMES = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
)
CONTROLLERS = "system:serviceaccount:kube-system:"


class Killer(Base):
    """A plugin that has controllers killed at one of their writes.

    Args:
        at: number of the write; none where it is 0.
    """

    name = "Killer"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self, at: int) -> None:
        self.left = at
        self.kill = trio.Event()

    async def validate(self, attributes: Attributes) -> None:
        """Count a write, and have its writer cancelled if it is the one."""
        if not attributes.user.name.startswith(CONTROLLERS):
            return
        self.left -= 1
        if self.left == 0:
            self.kill.set()
            await trio.lowlevel.checkpoint()


async def step(server: InProcess, killer: Killer) -> None:
    """Run the controllers until all is quiet; once more where they are killed meanwhile."""
    for _ in range(2):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery, running(server, *NAMES):

                async def kill() -> None:
                    await killer.kill.wait()
                    scope.cancel()

                nursery.start_soon(kill)
                for _ in range(3):
                    await wait_all_tasks_blocked(0.002)
                    await trio.sleep(1)
                nursery.cancel_scope.cancel()
        if not scope.cancelled_caught:
            return
        killer.kill = trio.Event()


async def play(at: int) -> Counter[str]:
    """Roll all workloads out and on; returns what there is in the end.

    Args:
        at: number of the write at which the controllers are killed.
    """
    killer = Killer(at)
    async with open_api(parts=Parts(admission=[killer])) as server:
        client, env = server.client(), server.env
        node = client.kind("v1", "Node")
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        await client.patch(node, "n", {"spec": {"taints": None}})
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            name = kind.lower()
            obj = workload(kind, name, replicas=2, serviceName="s")
            if kind == "DaemonSet":
                del obj["spec"]["replicas"]
            if kind != "StatefulSet":
                del obj["spec"]["serviceName"]
            _label(obj["spec"], name)
            await client.create(obj)
        spec = {"completions": 2, "template": template(restartPolicy="Never")}
        meta = {"name": "job", "namespace": NAMESPACE}
        await client.create(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
        )
        for image in ("i", "j"):
            for kind in ("Deployment", "StatefulSet", "DaemonSet"):
                new: Object = {"template": template(image)}
                _label(new, kind.lower())
                of = client.kind("apps/v1", kind)
                await client.patch(of, kind.lower(), {"spec": new}, NAMESPACE)
            for _ in range(6):
                await step(server, killer)
                await make_ready(client, env.now(), lambda pod: not _of_job(pod))
                for pod in await pods_of(client):
                    if _of_job(pod) and pod["status"]["phase"] == "Pending":
                        await make_end(client, pod["metadata"]["name"])
        await step(server, killer)
        return await seen(client)


def _label(spec: Object, name: str) -> None:
    """Give a workload labels of its own."""
    labels = {"app": name}
    spec["template"]["metadata"]["labels"] = dict(labels)
    if "selector" in spec:
        spec["selector"] = {"matchLabels": labels}


def _of_job(pod: Object) -> bool:
    return bool(pod["metadata"]["ownerReferences"][0]["kind"] == "Job")


async def seen(client: Client) -> Counter[str]:
    """What there is, without names that are random."""
    found = Counter[str]()
    for pod in await pods_of(client):
        owner = pod["metadata"]["ownerReferences"][0]["name"]
        image = pod["spec"]["containers"][0]["image"]
        held = bool(pod["metadata"].get("finalizers"))
        found[f"{owner} {image} {pod['status']['phase']} {held}"] += 1
    for api_version, kind in (
        ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"), ("apps/v1", "ControllerRevision"), ("batch/v1", "Job"),
    ):  # fmt: skip
        for one in (await client.list(client.kind(api_version, kind), NAMESPACE)).items:
            status = dict(one.get("status") or {})
            for name in ("startTime", "completionTime"):
                status.pop(name, None)
            reasons = [each["reason"] for each in status.pop("conditions", ())]
            told = f"{kind} {one['metadata']['name']} {sorted(status.items())} {sorted(reasons)}"
            found[f"{told} {one.get('revision')}"] += 1
    return found


@pytest.fixture(scope="module")
def undisturbed() -> Counter[str]:
    """What there is in the end when nothing is killed."""
    return trio.run(play, 0, clock=MockClock(autojump_threshold=0.01))


@pytest.mark.parametrize("at", some_of(*range(1, 12), 15, 20, 26, 33, 41, 50))
def test_what_is_killed_goes_on(at: int, undisturbed: Counter[str]) -> None:
    """No pod too many or too few, no further revision, no success that counts twice."""
    assert trio.run(play, at, clock=MockClock(autojump_threshold=0.01)) == undisturbed
