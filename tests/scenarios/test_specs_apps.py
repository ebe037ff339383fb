"""What Kubernetes' e2e specs for apps ask of a cluster, as scenarios of their titles.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from simulated import SAID, Cluster, cluster
from specs import Specs, scaled, until_complete, until_observed, until_running
from trio.testing import MockClock

from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]
SPECS = spec = Specs()


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


INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
LONG = {"run-seconds": "100000"}
SHORT = {"run-seconds": "5"}
TWO_OF_FOUR: Object = {"parallelism": 2, "completions": 4, "backoffLimit": 6}
INDEXED: Object = {"completionMode": "Indexed"}
# A Job with a limit of failures for each index has none for all.
BY_INDEX: Object = {**INDEXED, "parallelism": 2, "backoffLimitPerIndex": 1}


def index_of(pod: Object) -> int:
    """The completion index of a pod."""
    return int(pod["metadata"]["annotations"][INDEX])


def odd_fails(pod: Object) -> int:
    """The exit code of a pod that fails where its index is odd."""
    return index_of(pod) % 2


class Once:
    """The exit codes of a Job's containers that fail once, and for that leave a mark.

    Args:
        code: of the first one that exits.
        each: whether the pods of each index have a mark of their own.
    """

    def __init__(self, code: int, *, each: bool) -> None:
        self.code, self.each = code, each
        self.first: dict[int, str] = {}

    def __call__(self, pod: Object) -> int:
        """The exit code of a pod."""
        mark = index_of(pod) if self.each else 0
        uid = pod["metadata"]["uid"]
        return self.code if self.first.setdefault(mark, uid) == uid else 0


async def until_reason(there: Cluster, type_: str, reason: str) -> None:
    """Wait until a condition of the Job is true, which has a reason."""
    assert (await there.until_condition("Job", "j", type_))["reason"] == reason


async def status_of(there: Cluster) -> Object:
    """The status of the Job."""
    return (await there.get("Job", "j")).get("status") or {}


async def assert_quiet(there: Cluster) -> None:
    """The Job has no pods that are active, ready or on their way out, and says so."""
    status = await status_of(there)
    assert not status.get("active")
    assert (status["ready"], status["terminating"]) == (0, 0)


async def played(there: Cluster, type_: str, reason: str, code: Callable[[Object], int]) -> None:
    """Have the pods exit with codes until the Job is over for a reason."""

    async def over() -> object:
        for pod in await there.all_of("Pod", "j"):
            said = {f"{SAID}exit-code": str(code(pod))}
            if pod["status"]["phase"] in ("Pending", "Running") and not (
                said.items() <= pod["metadata"]["annotations"].items()
            ):
                await there.change("Pod", pod["metadata"]["name"], metadata={"annotations": said})
        return (await there.condition("Job", "j", type_)).get("status") == "True"

    await there.until(over)
    await until_reason(there, type_, reason)


async def phases(there: Cluster) -> list[str]:
    """The phases of the pods of the Job."""
    return [one["status"]["phase"] for one in await there.all_of("Pod", "j")]


async def suspend(there: Cluster, *, whether: bool) -> None:
    """Suspend the Job, or let it go on."""
    await there.updated("Job", "j", lambda read: read["spec"].update(suspend=whether))


@spec("Job should run a job to completion when tasks succeed")
async def _job(there: Cluster) -> None:
    await there.workload("Job", "j", **TWO_OF_FOUR)
    await until_complete(there, "j", 4)
    assert await phases(there) == ["Succeeded"] * 4


@spec("Job should run a job to completion with CPU requests")
async def _job_cpu(there: Cluster) -> None:
    node = await there.get("Node", "node-0")
    share = int(0.2 * int(node["status"]["allocatable"]["cpu"]))
    assert share
    pods = {"requests": {"cpu": str(share)},
            "nodeSelector": {"kubernetes.io/hostname": "node-0"}}  # fmt: skip
    await there.workload("Job", "j", completions=90, parallelism=90, backoffLimit=0, pods=pods)
    await until_complete(there, "j", 90)
    assert await phases(there) == ["Succeeded"] * 90


@spec("Job should not create pods when created in suspend state")
async def _suspended(there: Cluster) -> None:
    await there.workload("Job", "j", suspend=True, **TWO_OF_FOUR)
    await there.until_condition("Job", "j", "Suspended")
    await trio.sleep(30)
    assert await there.names("Pod") == []
    await suspend(there, whether=False)
    await until_complete(there, "j", 4)


@spec("Job should delete pods when suspended")
async def _suspends(there: Cluster) -> None:
    await there.workload("Job", "j", said=LONG, suspend=False, **TWO_OF_FOUR)
    await until_running(there, "j", 2)
    await suspend(there, whether=True)
    await there.until_ready("j", 0)
    assert (await there.condition("Job", "j", "Suspended"))["status"] == "True"


@spec("Job should create pods for an Indexed job with completion indexes and specified hostname")
async def _indexed(there: Cluster) -> None:
    await there.workload("Job", "j", **TWO_OF_FOUR, **INDEXED)
    await until_complete(there, "j", 4)
    pods = [one for one in await there.all_of("Pod", "j") if one["status"]["phase"] == "Succeeded"]
    hosts = sorted((index_of(one), one["spec"]["hostname"]) for one in pods)
    assert hosts == [(number, f"j-{number}") for number in range(4)]


@spec("Job should create pods with completion indexes for an Indexed Job")
async def _indexes(there: Cluster) -> None:
    await there.workload("Job", "j", **TWO_OF_FOUR, **INDEXED)
    status = (await until_complete(there, "j", 4))["status"]
    assert status["completedIndexes"] == "0-3"
    labels = [one["metadata"]["labels"][INDEX] for one in await there.all_of("Pod", "j")]
    assert sorted(labels) == ["0", "1", "2", "3"]


# ---------------------------------------------------------------------- policies of Jobs


async def _by_policy(there: Cluster, rule: Object, limit: int) -> None:
    """A Job with a success policy, of which pods with odd indexes fail."""
    await there.workload("Job", "j", said=SHORT, completions=5, parallelism=2, backoffLimit=limit,
                         successPolicy={"rules": [rule]}, **INDEXED)  # fmt: skip
    await played(there, "SuccessCriteriaMet", "SuccessPolicy", odd_fails)
    await until_reason(there, "Complete", "SuccessPolicy")
    status = await status_of(there)
    assert (status["succeeded"], status["completedIndexes"]) == (1, "0")
    await assert_quiet(there)


@spec(
    "Job with successPolicy succeededIndexes rule should succeeded even when some indexes remain pending"  # noqa: E501
)
async def _policy_indexes(there: Cluster) -> None:
    await _by_policy(there, {"succeededIndexes": "0"}, 6)


@spec(
    "Job with successPolicy succeededCount rule should succeeded even when some indexes remain pending"  # noqa: E501
)
async def _policy_count(there: Cluster) -> None:
    await _by_policy(there, {"succeededCount": 1}, 2**31 - 1)


@spec("Job with successPolicy should succeeded when all indexes succeeded")
async def _policy_all(there: Cluster) -> None:
    await there.workload("Job", "j", completions=2, parallelism=2, backoffLimit=6,
                         successPolicy={"rules": [{"succeededCount": 2}]}, **INDEXED)  # fmt: skip
    await until_reason(there, "SuccessCriteriaMet", "SuccessPolicy")
    await until_reason(there, "Complete", "SuccessPolicy")
    status = await status_of(there)
    assert (status["succeeded"], status.get("failed") or 0) == (2, 0)
    await assert_quiet(there)


async def assert_indexes(there: Cluster, failed: str, completed: str, *counts: int) -> None:
    """The Job says which indexes failed and completed, and how many pods."""
    status = await status_of(there)
    assert (status["failedIndexes"], status.get("completedIndexes") or "") == (failed, completed)
    assert (status.get("failed") or 0, status.get("succeeded") or 0) == counts


@spec("Job should execute all indexes despite some failing when using backoffLimitPerIndex")
async def _per_index(there: Cluster) -> None:
    await there.workload("Job", "j", said=SHORT, completions=4, **BY_INDEX)
    await played(there, "Failed", "FailedIndexes", odd_fails)
    await assert_indexes(there, "1,3", "0,2", 4, 2)


@spec(
    "Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes"
)
async def _most_failed(there: Cluster) -> None:
    how = {**BY_INDEX, "parallelism": 1, "backoffLimitPerIndex": 0, "maxFailedIndexes": 0}
    await there.workload("Job", "j", said={"exit-code": "1"}, completions=4, **how)
    await until_reason(there, "Failed", "MaxFailedIndexesExceeded")
    await assert_indexes(there, "0", "", 1, 0)


@spec("Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy")
async def _fail_index(there: Cluster) -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}
    await there.workload("Job", "j", said=SHORT, completions=2,
                         podFailurePolicy={"rules": [rule]}, **BY_INDEX)  # fmt: skip
    await played(there, "Failed", "FailedIndexes", odd_fails)
    await assert_indexes(there, "1", "0", 1, 1)


@spec("Job should record the failure-count in the Pod annotation when using backoffLimitPerIndex")
async def _counted(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, completions=2, **BY_INDEX)
    await until_reason(there, "Failed", "FailedIndexes")
    pods = await there.all_of("Pod", "j")
    counts = sorted((index_of(one), one["metadata"]["annotations"][FAILURES]) for one in pods)
    assert counts == [(0, "0"), (0, "1"), (1, "0"), (1, "1")]
    await assert_indexes(there, "0,1", "", 4, 0)


@spec("Job should allow to use the pod failure policy on exit code to fail the job early")
async def _fail_early(there: Cluster) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
    await there.workload("Job", "j", said=SHORT, podFailurePolicy={"rules": [rule]}, **TWO_OF_FOUR,
                         pods={"nodeSelector": {"kubernetes.io/hostname": "node-0"}})  # fmt: skip
    await played(there, "Failed", "PodFailurePolicy", Once(1, each=False))
    assert sorted(await phases(there)).count("Failed") >= 1
    assert len(await there.names("Pod", "j")) <= 2


@spec("Job should allow to use a pod failure policy to ignore failure matching on exit code")
async def _ignored(there: Cluster) -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}
    await there.workload("Job", "j", said=SHORT, parallelism=3, completions=3, backoffLimit=2,
                         podFailurePolicy={"rules": [rule]}, **INDEXED)  # fmt: skip
    await played(there, "Complete", "CompletionsReached", Once(42, each=True))
    assert (await until_complete(there, "j", 3))["status"].get("failed") in (None, 0)
    assert len(await there.names("Pod", "j")) == 6


# ---------------------------------------------------------------------- Jobs that fail or go


@spec("Job should fail to exceed backoffLimit")
async def _backoff(there: Cluster) -> None:
    await there.workload("Job", "j", said={"exit-code": "1"}, parallelism=1, completions=1,
                         backoffLimit=1)  # fmt: skip
    await until_reason(there, "FailureTarget", "BackoffLimitExceeded")
    await until_reason(there, "Failed", "BackoffLimitExceeded")
    assert await phases(there) == ["Failed", "Failed"]
    await assert_quiet(there)


@spec("Job should fail when exceeds active deadline")
async def _deadline(there: Cluster) -> None:
    await there.workload("Job", "j", said=LONG, activeDeadlineSeconds=1, **TWO_OF_FOUR)
    await until_reason(there, "FailureTarget", "DeadlineExceeded")
    await until_reason(there, "Failed", "DeadlineExceeded")
    await assert_quiet(there)
    await there.until_ready("j", 0)


@spec("Job should adopt matching orphans and release non-matching pods")
async def _job_orphans(there: Cluster) -> None:
    made = await there.workload("Job", "j", said=LONG, **TWO_OF_FOUR)
    (first, _) = await until_running(there, "j", 2)
    pod, uid = first["metadata"]["name"], made["metadata"]["uid"]

    async def until_owner(wanted: str) -> None:
        async def told() -> bool:
            found = _owner(await there.get("Pod", pod))
            assert found in ("", uid)
            return found == wanted

        await there.until(told)

    await until_owner(uid)
    await there.updated("Pod", pod, lambda read: read["metadata"].pop("ownerReferences"))
    await until_owner(uid)
    await there.updated("Pod", pod, lambda read: read["metadata"].pop("labels"))
    await until_owner("")


async def _deleted(there: Cluster, policy: str) -> None:
    """Delete a Job whose pods run; they go, too."""
    await there.workload("Job", "j", said=LONG, **TWO_OF_FOUR)
    await until_running(there, "j", 2)
    await there.remove("Job", "j", propagationPolicy=policy)

    async def gone() -> object:
        return await there.find("Job", "j") is None and not await there.names("Pod", "j")

    await there.until(gone)


@spec("Job should delete a job")
async def _delete_job(there: Cluster) -> None:
    await _deleted(there, "Foreground")


@spec("Job should remove pods when job is deleted")
async def _pods_too(there: Cluster) -> None:
    await _deleted(there, "Background")


@spec(
    "Job should recreate pods only after they have failed if pod replacement policy is set to Failed"  # noqa: E501
)
async def _replacement(there: Cluster) -> None:
    await there.workload("Job", "j", said={**LONG, "stop-seconds": "5", "stop-code": "143"},
                         parallelism=1, completions=1, backoffLimit=1,
                         podReplacementPolicy="Failed")  # fmt: skip
    ((pod),) = await until_running(there, "j", 1)
    await there.remove("Pod", pod["metadata"]["name"])

    async def until_counted(active: int, failed: int, terminating: int) -> None:
        async def counted() -> object:
            status = await status_of(there)
            found = [status.get(one) or 0 for one in ("active", "failed", "terminating")]
            return found == [active, failed, terminating]

        await there.until(counted)

    await until_counted(0, 0, 1)
    assert await there.names("Pod", "j") == [pod["metadata"]["name"]]
    await until_counted(1, 1, 0)


@spec("Job should update the status ready field")
async def _ready_field(there: Cluster) -> None:
    await there.workload("Job", "j", said=LONG, suspend=True, **TWO_OF_FOUR)

    async def until_number(number: int) -> None:
        async def ready() -> object:
            return (await status_of(there)).get("ready") == number

        await there.until(ready)

    await until_number(0)
    await suspend(there, whether=False)
    await until_number(2)
    await suspend(there, whether=True)
    await until_number(0)


@spec("Job should allow to delegate reconciliation to external controller")
async def _managed(there: Cluster) -> None:
    await there.workload("Job", "j", managedBy="example.com/custom-job-controller", **TWO_OF_FOUR)
    for _ in range(30):
        assert await status_of(there) == {}
        await trio.sleep(1)
    assert await there.names("Pod") == []


@spec("TTLAfterFinished job should be deleted once it finishes after TTL seconds")
async def _ttl(there: Cluster) -> None:
    written = there.written("Job", "j", parallelism=1, completions=1, backoffLimit=2,
                            ttlSecondsAfterFinished=10)  # fmt: skip
    written["metadata"]["finalizers"] = ["example.com/kept"]
    await there.client.create(written)
    over = await there.until_condition("Job", "j", "Complete")

    async def deleting() -> object:
        return (await there.get("Job", "j"))["metadata"].get("deletionTimestamp")

    await there.until(deleting, 30)
    stamp = (await there.get("Job", "j"))["metadata"]["deletionTimestamp"]
    assert parse_time(stamp) >= parse_time(over["lastTransitionTime"]) + 10
    await there.change("Job", "j", metadata={"finalizers": None})
    assert await there.find("Job", "j") is None


@spec("Job should run a job to completion when tasks sometimes fail and are locally restarted")
async def _restarted(there: Cluster) -> None:
    said = {**SHORT, "exit-code": "1"}
    await there.workload("Job", "j", said=said, pods={"restartPolicy": "OnFailure"}, **TWO_OF_FOUR)

    def restarts(pod: Object) -> int:
        statuses = pod["status"].get("containerStatuses") or ()
        return sum(one["restartCount"] for one in statuses)

    await played(there, "Complete", "CompletionsReached", lambda pod: int(not restarts(pod)))
    await until_complete(there, "j", 4)
    pods = await there.all_of("Pod", "j")
    assert [restarts(one) for one in pods] == [1] * 4


@spec("Job should run a job to completion when tasks sometimes fail and are not locally restarted")
async def _not_restarted(there: Cluster) -> None:
    await there.workload("Job", "j", said=SHORT, **TWO_OF_FOUR)
    await played(there, "SuccessCriteriaMet", "CompletionsReached", Once(1, each=False))
    await until_complete(there, "j", 4)
    await assert_quiet(there)
    assert sorted(await phases(there)) == ["Failed", *["Succeeded"] * 4]


# ---------------------------------------------------------------------- PodDisruptionBudget


async def _budget_of_bare_pods(there: Cluster) -> None:
    """Make a budget and three pods without a controller, and wait until they run."""
    selector = {"matchLabels": {"app": "w"}}
    await there.make("PodDisruptionBudget", "b", spec={"minAvailable": 1, "selector": selector})
    for number in range(3):
        await there.pod(f"pod-{number}", labels={"app": "w"})
    await until_running(there, "w", 3)


@spec("DisruptionController should observe PodDisruptionBudget status updated")
async def _budget(there: Cluster) -> None:
    await _budget_of_bare_pods(there)

    async def counted() -> object:
        status = (await there.get("PodDisruptionBudget", "b")).get("status") or {}
        return status.get("currentHealthy") == 3 and status.get("disruptionsAllowed") == 2

    await there.until(counted)


@spec(
    "DisruptionController should observe that the PodDisruptionBudget status is not updated for unmanaged pods"  # noqa: E501
)
async def _unmanaged(there: Cluster) -> None:
    await _budget_of_bare_pods(there)
    for _ in range(60):
        condition = await there.condition("PodDisruptionBudget", "b", "DisruptionAllowed")
        assert condition.get("reason") != "SyncFailed"
        await trio.sleep(1)
    assert (await there.condition("PodDisruptionBudget", "b", "DisruptionAllowed")) != {}


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
