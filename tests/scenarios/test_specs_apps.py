"""What Kubernetes' e2e specs for apps ask of a cluster, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import Cluster, cluster
from specs import Specs, scaled, until_observed, until_running
from trio.testing import MockClock

Object = dict[str, Any]
SPECS = spec = Specs()


def image(name: str) -> Object:
    """A change of the image of a workload's pods."""
    return {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}


async def images(there: Cluster, app: str) -> list[str]:
    """Images of the pods of an application."""
    return [one["spec"]["containers"][0]["image"] for one in await there.all_of("Pod", app)]


# ---------------------------------------------------------------------- ReplicaSet and its like


async def _quota(there: Cluster, kind: str) -> None:
    """A quota makes a condition, which goes when the workload fits."""
    await there.make("ResourceQuota", "q", spec={"hard": {"pods": "2"}})

    async def counted() -> object:
        status = (await there.get("ResourceQuota", "q")).get("status") or {}
        return status.get("hard") == {"pods": "2"}

    await there.until(counted)
    await there.workload(kind, "w", replicas=3)
    failure = await there.until_condition(kind, "w", "ReplicaFailure")
    assert failure["reason"] == "FailedCreate"
    assert "exceeded quota" in failure["message"]
    await there.change(kind, "w", spec={"replicas": 2})

    async def well() -> object:
        return not await there.condition(kind, "w", "ReplicaFailure")

    await until_observed(there, kind, "w")
    await there.until(well)
    assert len(await there.names("Pod", "w")) == 2


def _owner(pod: Object) -> str:
    """The uid of the controller of a pod, empty for none."""
    refs = pod["metadata"].get("ownerReferences") or ()
    return next((str(one["uid"]) for one in refs if one["controller"]), "")


async def _adopt(there: Cluster, kind: str) -> str:
    """A pod is there before its workload, which adopts it; returns its name."""
    await there.pod("early", labels={"app": "w"})
    await until_running(there, "w", 1)
    made = await there.workload(kind, "w", replicas=1)

    async def adopted() -> object:
        return _owner(await there.get("Pod", "early")) == made["metadata"]["uid"]

    await there.until(adopted)
    assert await there.names("Pod", "w") == ["early"]
    return "early"


async def _release(there: Cluster, pod: str) -> None:
    """A pod whose labels change has no owner, and another takes its place."""
    await there.updated("Pod", pod, lambda read: read["metadata"].update(labels={"app": "other"}))

    async def replaced() -> object:
        return not _owner(await there.get("Pod", pod)) and len(await there.ready("w")) == 1

    await there.until(replaced)
    assert await there.names("Pod", "w") != [pod]


@spec("ReplicaSet should surface a failure condition on a common issue like exceeded quota")
async def _set_quota(there: Cluster) -> None:
    await _quota(there, "ReplicaSet")


@spec("ReplicaSet should adopt matching pods on creation and release no longer matching pods")
async def _set_adopts(there: Cluster) -> None:
    await _release(there, await _adopt(there, "ReplicaSet"))


@spec("ReplicaSet Replicaset should have a working scale subresource")
async def _set_scale(there: Cluster) -> None:
    await there.workload("ReplicaSet", "w", replicas=1)
    await there.until_ready("w", 1)
    await scaled(there, "ReplicaSet", "w")


@spec(
    "ReplicationController should surface a failure condition on a common issue like exceeded quota"
)
async def _controller_quota(there: Cluster) -> None:
    await _quota(there, "ReplicationController")


@spec("ReplicationController should adopt matching pods on creation")
async def _controller_adopts(there: Cluster) -> None:
    await _adopt(there, "ReplicationController")


@spec("ReplicationController should release no longer matching pods")
async def _controller_releases(there: Cluster) -> None:
    await there.workload("ReplicationController", "w", replicas=1)
    await there.until_ready("w", 1)
    (pod,) = await there.names("Pod", "w")
    await _release(there, pod)


@spec("ReplicationController should get and update a ReplicationController scale")
async def _controller_scale(there: Cluster) -> None:
    await there.workload("ReplicationController", "w", replicas=1)
    await there.until_ready("w", 1)
    await scaled(there, "ReplicationController", "w")


# ---------------------------------------------------------------------- Job


async def _complete(there: Cluster, **job: Any) -> Object:
    """Run a Job to completion; returns its status."""
    await there.workload("Job", "j", **job)
    await there.until_condition("Job", "j", "Complete")
    status: Object = (await there.get("Job", "j"))["status"]
    return status


@spec("Job should run a job to completion when tasks succeed")
async def _job(there: Cluster) -> None:
    status = await _complete(there, completions=4, parallelism=2)
    assert status["succeeded"] == 4
    assert len(await there.names("Pod", "j")) == 4


@spec("Job should run a job to completion with CPU requests")
async def _job_cpu(there: Cluster) -> None:
    status = await _complete(there, completions=90, parallelism=90,
                             pods={"requests": {"cpu": "1"}})  # fmt: skip
    assert status["succeeded"] == 90


@spec("Job should not create pods when created in suspend state")
async def _suspended(there: Cluster) -> None:
    await there.workload("Job", "j", suspend=True)
    await there.until_condition("Job", "j", "Suspended")
    await trio.sleep(30)
    assert await there.names("Pod") == []
    await there.change("Job", "j", spec={"suspend": False})
    await there.until_condition("Job", "j", "Complete")


@spec("Job should delete pods when suspended")
async def _suspends(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2, completions=2)
    await there.until_ready("j", 2)
    await there.change("Job", "j", spec={"suspend": True})
    await there.until_ready("j", 0)
    assert (await there.condition("Job", "j", "Suspended"))["status"] == "True"


@spec("Job should create pods for an Indexed job with completion indexes and specified hostname")
async def _indexed(there: Cluster) -> None:
    await _complete(there, completions=3, parallelism=3, completionMode="Indexed")
    annotation = "batch.kubernetes.io/job-completion-index"
    rows = sorted(
        (one["metadata"]["annotations"][annotation], one["spec"]["hostname"])
        for one in await there.all_of("Pod", "j")
    )
    assert rows == [("0", "j-0"), ("1", "j-1"), ("2", "j-2")]


async def _by_policy(there: Cluster, rule: Object, *indexes: str) -> None:
    """A Job with a success policy, of which pods with some indexes end."""
    await there.workload("Job", "j", said={"run-seconds": "100000"}, completions=4, parallelism=4,
                         completionMode="Indexed", successPolicy={"rules": [rule]})  # fmt: skip
    await there.until_ready("j", 4)
    for one in await there.all_of("Pod", "j"):
        if one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] in indexes:
            await there.change(
                "Pod", one["metadata"]["name"],
                metadata={"annotations": {"simulation.kubetrio.io/run-seconds": "0"}},
            )  # fmt: skip
    await there.until_condition("Job", "j", "Complete")
    condition = await there.condition("Job", "j", "SuccessCriteriaMet")
    assert condition["reason"] == "SuccessPolicy"
    status = (await there.get("Job", "j"))["status"]
    assert status["completedIndexes"] == ",".join(indexes)


@spec(
    "Job with successPolicy succeededIndexes rule should succeeded even when some indexes remain pending"  # noqa: E501
)
async def _policy_indexes(there: Cluster) -> None:
    await _by_policy(there, {"succeededIndexes": "0"}, "0")


@spec(
    "Job with successPolicy succeededCount rule should succeeded even when some indexes remain pending"  # noqa: E501
)
async def _policy_count(there: Cluster) -> None:
    await _by_policy(there, {"succeededCount": 1}, "2")


@spec("Job should execute all indexes despite some failing when using backoffLimitPerIndex")
async def _per_index(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, completions=3, parallelism=3,
                         completionMode="Indexed", backoffLimitPerIndex=1)  # fmt: skip
    failed = await there.until_condition("Job", "j", "Failed")
    assert failed["reason"] == "FailedIndexes"
    assert (await there.get("Job", "j"))["status"]["failedIndexes"] == "0-2"
    counts = {
        one["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]
        for one in await there.all_of("Pod", "j")
    }
    assert counts == {"0", "1"}


@spec(
    "Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes"
)
async def _most_failed(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, completions=5, parallelism=2,
                         completionMode="Indexed", backoffLimitPerIndex=0,
                         maxFailedIndexes=1)  # fmt: skip
    failed = await there.until_condition("Job", "j", "Failed")
    assert failed["reason"] == "MaxFailedIndexesExceeded"


@spec("Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy")
async def _fail_index(there: Cluster) -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}
    await there.workload("Job", "j", said={"exit-code": "42"}, completions=2, parallelism=2,
                         completionMode="Indexed", backoffLimitPerIndex=3,
                         podFailurePolicy={"rules": [rule]})  # fmt: skip
    await there.until_condition("Job", "j", "Failed")
    assert len(await there.names("Pod", "j")) == 2


@spec("Job should allow to use the pod failure policy on exit code to fail the job early")
async def _fail_early(there: Cluster) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    await there.workload("Job", "j", said={"exit-code": "42"}, completions=4, parallelism=1,
                         podFailurePolicy={"rules": [rule]})  # fmt: skip
    failed = await there.until_condition("Job", "j", "Failed")
    assert failed["reason"] == "PodFailurePolicy"
    assert len(await there.names("Pod", "j")) == 1


@spec("Job should fail to exceed backoffLimit")
async def _backoff(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, backoffLimit=1)
    failed = await there.until_condition("Job", "j", "Failed")
    assert failed["reason"] == "BackoffLimitExceeded"
    assert len(await there.names("Pod", "j")) == 2


@spec("Job should fail when exceeds active deadline")
async def _deadline(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "1000"}, activeDeadlineSeconds=5)
    failed = await there.until_condition("Job", "j", "Failed")
    assert failed["reason"] == "DeadlineExceeded"
    await there.until_ready("j", 0)


@spec("Job should adopt matching orphans and release non-matching pods")
async def _job_orphans(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2, completions=2)
    await there.until_ready("j", 2)
    (pod, _) = await there.names("Pod", "j")
    await there.change("Pod", pod, metadata={"ownerReferences": None})

    async def owned() -> object:
        return bool((await there.get("Pod", pod))["metadata"].get("ownerReferences"))

    await there.until(owned)
    keys = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
            "batch.kubernetes.io/job-name")  # fmt: skip
    await there.change("Pod", pod, metadata={"labels": dict.fromkeys(keys)})

    async def released() -> object:
        return not (await there.get("Pod", pod))["metadata"].get("ownerReferences")

    await there.until(released)


@spec("Job should delete a job")
async def _delete_job(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2, completions=2)
    await there.until_ready("j", 2)
    await there.remove("Job", "j", propagationPolicy="Foreground")

    async def gone() -> object:
        return await there.find("Job", "j") is None and not await there.names("Pod", "j")

    await there.until(gone)


@spec(
    "Job should recreate pods only after they have failed if pod replacement policy is set to Failed"  # noqa: E501
)
async def _replacement(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000", "stop-seconds": "1000"},
                         podReplacementPolicy="Failed")  # fmt: skip
    await there.until_ready("j", 1)
    (pod,) = await there.names("Pod", "j")
    await there.remove("Pod", pod)
    await trio.sleep(10)
    assert await there.names("Pod", "j") == [pod]
    assert (await there.get("Job", "j"))["status"]["terminating"] == 1

    async def replaced() -> object:
        return pod not in await there.names("Pod", "j") and len(await there.ready("j")) == 1

    await there.until(replaced)


@spec("Job should update the status ready field")
async def _ready_field(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2, completions=2)

    async def ready() -> object:
        return (await there.get("Job", "j"))["status"].get("ready") == 2

    await there.until(ready)
    await there.change("Job", "j", spec={"suspend": True})

    async def none() -> object:
        return (await there.get("Job", "j"))["status"].get("ready") == 0

    await there.until(none)


@spec("Job should allow to delegate reconciliation to external controller")
async def _managed(there: Cluster) -> None:
    await there.workload("Job", "j", managedBy="example.com/mine")
    await trio.sleep(30)
    assert await there.names("Pod") == []
    assert not (await there.get("Job", "j")).get("status")


@spec("TTLAfterFinished job should be deleted once it finishes after TTL seconds")
async def _ttl(there: Cluster) -> None:
    await there.workload("Job", "j", ttlSecondsAfterFinished=10)
    await there.until_condition("Job", "j", "Complete")

    async def gone() -> object:
        return await there.find("Job", "j") is None

    await there.until(gone, 30)


async def _failing(there: Cluster, restarts: str) -> None:
    """Pods fail at first and succeed later."""
    await there.workload("Job", "j", said={"exit-code": "1", "run-seconds": "5"}, completions=2,
                         parallelism=2, backoffLimit=50,
                         pods={"restartPolicy": restarts})  # fmt: skip
    await trio.sleep(20)
    well = {"annotations": {"simulation.kubetrio.io/exit-code": "0"}}

    async def complete() -> object:
        for one in await there.all_of("Pod", "j"):
            if one["status"]["phase"] in ("Pending", "Running"):
                await there.change("Pod", one["metadata"]["name"], metadata=well)
        return (await there.condition("Job", "j", "Complete")).get("status") == "True"

    await there.until(complete)


@spec("Job should run a job to completion when tasks sometimes fail and are locally restarted")
async def _restarted(there: Cluster) -> None:
    await _failing(there, "OnFailure")
    assert len(await there.names("Pod", "j")) == 2
    counts = [one["status"]["containerStatuses"][0]["restartCount"]
              for one in await there.all_of("Pod", "j")]  # fmt: skip
    assert all(counts)


@spec("Job should run a job to completion when tasks sometimes fail and are not locally restarted")
async def _not_restarted(there: Cluster) -> None:
    await _failing(there, "Never")
    assert len(await there.names("Pod", "j")) > 2


@spec("Job should allow to use a pod failure policy to ignore failure matching on exit code")
async def _ignored(there: Cluster) -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}
    await there.workload("Job", "j", said={"exit-code": "42", "run-seconds": "1"}, backoffLimit=0,
                         podFailurePolicy={"rules": [rule]})  # fmt: skip
    await trio.sleep(60)
    assert not await there.condition("Job", "j", "Failed")
    assert not (await there.get("Job", "j"))["status"].get("failed")


@spec("Job should create pods with completion indexes for an Indexed Job")
async def _indexes(there: Cluster) -> None:
    status = await _complete(there, completions=4, parallelism=2, completionMode="Indexed")
    assert (status["succeeded"], status["completedIndexes"]) == (4, "0-3")


@spec("Job with successPolicy should succeeded when all indexes succeeded")
async def _policy_all(there: Cluster) -> None:
    status = await _complete(there, completions=2, parallelism=2, completionMode="Indexed",
                             successPolicy={"rules": [{"succeededCount": 2}]})  # fmt: skip
    assert status["completedIndexes"] == "0,1"


@spec("Job should record the failure-count in the Pod annotation when using backoffLimitPerIndex")
async def _counted(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, completions=2, parallelism=2,
                         completionMode="Indexed", backoffLimitPerIndex=2)  # fmt: skip
    await there.until_condition("Job", "j", "Failed")
    counts = sorted(
        one["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]
        for one in await there.all_of("Pod", "j")
    )
    assert counts == ["0", "0", "1", "1", "2", "2"]


@spec("Job should remove pods when job is deleted")
async def _pods_too(there: Cluster) -> None:
    await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2, completions=2)
    await there.until_ready("j", 2)
    await there.remove("Job", "j", propagationPolicy="Background")
    await there.until_ready("j", 0)


# ---------------------------------------------------------------------- PodDisruptionBudget


@spec("DisruptionController should observe PodDisruptionBudget status updated")
async def _budget(there: Cluster) -> None:
    await there.workload("ReplicaSet", "w", replicas=3)
    selector = {"matchLabels": {"app": "w"}}
    await there.make("PodDisruptionBudget", "b", spec={"minAvailable": 2, "selector": selector})

    async def counted() -> object:
        status = (await there.get("PodDisruptionBudget", "b")).get("status") or {}
        return status.get("currentHealthy") == 3 and status.get("disruptionsAllowed") == 1

    await there.until(counted)


@spec(
    "DisruptionController should observe that the PodDisruptionBudget status is not updated for unmanaged pods"  # noqa: E501
)
async def _unmanaged(there: Cluster) -> None:
    await there.pod("alone", labels={"app": "w"})
    selector = {"matchLabels": {"app": "w"}}
    await there.make("PodDisruptionBudget", "b", spec={"maxUnavailable": 1, "selector": selector})
    await trio.sleep(30)
    status = (await there.get("PodDisruptionBudget", "b")).get("status") or {}
    assert not status.get("disruptionsAllowed")


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
