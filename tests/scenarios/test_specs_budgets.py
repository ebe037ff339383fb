"""What Kubernetes' e2e specs ask of evictions of pods that a budget guards.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from simulated import Cluster, cluster, is_ready
from specs import Specs, until_observed
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
BUDGET = "PodDisruptionBudget"
LABELS = {"foo": "bar"}


async def guard(there: Cluster, **members: Any) -> None:
    """Make a budget for all pods of the scenario, and wait until it was seen."""
    await there.make(BUDGET, "foo", spec={"selector": {"matchLabels": LABELS}, **members})
    await until_observed(there, BUDGET, "foo")


async def replica_set(
    there: Cluster, replicas: int, said: Object | None = None, **pods: Any
) -> None:
    """Make a set of pods that the budget guards."""
    written = there.written("ReplicaSet", "w", said=said, replicas=replicas, pods=pods)
    written["spec"]["selector"]["matchLabels"] = LABELS
    written["spec"]["template"]["metadata"]["labels"] = LABELS
    await there.client.create(written)


async def evicted(there: Cluster, name: str) -> bool:
    """Evict a pod, unless the budget forbids it; returns whether it may go."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": name, "namespace": "default"}}  # fmt: skip
    try:
        await there.evict(eviction)
    except ApiError as error:
        causes = (error.details or {}).get("causes") or ()
        if error.code != 429 or [one["reason"] for one in causes] != ["DisruptionBudget"]:
            raise
        return False
    return True


async def until_ready(there: Cluster, count: int) -> None:
    """Wait until so many pods at least are ready and stay."""

    async def enough() -> object:
        pods = await there.chosen("Pod", "foo=bar")
        return count <= sum(
            is_ready(one) and "deletionTimestamp" not in one["metadata"] for one in pods
        )

    await there.until(enough)


async def until_healthy(there: Cluster, current: int, desired: int) -> None:
    """Wait until the budget counts so many healthy pods, and wants so many."""

    async def counts() -> object:
        status = (await there.get(BUDGET, "foo"))["status"]
        return (status["currentHealthy"], status["desiredHealthy"]) == (current, desired)

    await there.until(counts)


async def running_pod(there: Cluster) -> str:
    """Wait until a pod runs and stays; returns its name."""

    async def names() -> list[str]:
        return [one["metadata"]["name"] for one in await there.chosen("Pod", "foo=bar")
                if one["status"]["phase"] == "Running"
                and "deletionTimestamp" not in one["metadata"]]  # fmt: skip

    await there.until(names)
    return (await names())[0]


class Case(NamedTuple):
    """A spec of evictions.

    Args:
        title: what is there.
        budget: members of the budget, None for no budget.
        pods: that no controller makes.
        replicas: of a set.
        exclusive: whether the set's pods cannot be on one node.
        denied: whether an eviction is forbidden.
    """

    title: str
    budget: Object | None
    pods: int = 0
    replicas: int = 0
    exclusive: bool = False
    denied: bool = False


CASES = (
    Case("no PDB", None, pods=1),
    Case("too few pods, absolute", {"minAvailable": 2}, pods=2, denied=True),
    Case("enough pods, absolute", {"minAvailable": 2}, pods=3),
    Case("enough pods, replicaSet, percentage", {"minAvailable": "90%"}, replicas=10),
    Case("too few pods, replicaSet, percentage", {"minAvailable": "90%"}, replicas=10,
         exclusive=True, denied=True),
    Case("maxUnavailable allow single eviction, percentage", {"maxUnavailable": "10%"},
         replicas=10),
    Case("maxUnavailable deny evictions, integer", {"maxUnavailable": 1}, replicas=10,
         exclusive=True, denied=True),
)  # fmt: skip


def _of_case(case: Case) -> Callable[[Cluster], Awaitable[None]]:
    async def scenario(there: Cluster) -> None:
        for number in range(case.pods):
            await there.pod(f"pod-{number}", labels=LABELS)
        if case.replicas:
            ports = [{"hostPort": 5555, "containerPort": 5555}] if case.exclusive else []
            await replica_set(there, case.replicas, ports=ports)
        if case.budget is not None:
            await guard(there, **case.budget)
        name = await running_pod(there)
        if case.denied:
            assert not await evicted(there, name)
            return
        await until_ready(there, case.pods + case.replicas)

        async def allowed() -> bool:
            return await evicted(there, name)

        await there.until(allowed)

    return scenario


for one in CASES:
    outcome = "should not allow an eviction" if one.denied else "should allow an eviction"
    spec(f"DisruptionController evictions: {one.title} => {outcome}")(_of_case(one))


def _unready(
    policy: str | None, *, ready: bool, count: int
) -> Callable[[Cluster], Awaitable[None]]:
    async def scenario(there: Cluster) -> None:
        more = {} if policy is None else {"unhealthyPodEvictionPolicy": policy}
        await guard(there, maxUnavailable=1, **more)
        await replica_set(there, 3, said={"ready-seconds": "20" if ready else "330"})
        if ready:
            await until_ready(there, 3)
        else:

            async def run() -> object:
                phases = [one["status"]["phase"] for one in await there.chosen("Pod", "foo=bar")]
                return phases == ["Running"] * 3

            await there.until(run)
        await until_healthy(there, 3 if ready else 0, 2)
        names = await there.names("Pod")
        gone = [name for name in names if await evicted(there, name)]
        assert len(gone) == count

        async def deleted() -> object:
            pods = await there.chosen("Pod", "foo=bar")
            return not [one for one in pods if one["metadata"]["name"] in gone
                        and "deletionTimestamp" not in one["metadata"]]  # fmt: skip

        await there.until(deleted)

    return scenario


for verb, is_to_be_ready, most_by_policy in (
    ("should evict ready pods", True, {None: 1, "IfHealthyBudget": 1, "AlwaysAllow": 1}),
    ("should not evict unready pods", False, {None: 0, "IfHealthyBudget": 0}),
    ("should evict unready pods", False, {"AlwaysAllow": 3}),
):
    for policy_name, most in most_by_policy.items():
        name_of_policy = f"{policy_name or 'Default'} UnhealthyPodEvictionPolicy"
        spec(f"DisruptionController {verb} with {name_of_policy}")(
            _unready(policy_name, ready=is_to_be_ready, count=most)
        )


@spec("DisruptionController should block an eviction until the PDB is updated to allow it")
async def _blocked(there: Cluster) -> None:
    await guard(there, minAvailable=3)
    await replica_set(there, 3)
    await until_ready(there, 3)
    name = await running_pod(there)
    assert not await evicted(there, name)
    await there.updated(BUDGET, "foo", lambda read: read["spec"].update(minAvailable=2))
    await until_observed(there, BUDGET, "foo")
    await until_ready(there, 3)
    await until_healthy(there, 3, 2)
    assert await evicted(there, name)
    none = {"spec": {"minAvailable": None, "maxUnavailable": 0}}
    await there.patch(BUDGET, "foo", none, how="merge")
    await until_observed(there, BUDGET, "foo")
    await until_ready(there, 3)
    name = await running_pod(there)
    assert not await evicted(there, name)
    await there.remove(BUDGET, "foo")
    assert await there.find(BUDGET, "foo") is None
    await until_ready(there, 3)
    assert await evicted(there, name)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_budgets(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
