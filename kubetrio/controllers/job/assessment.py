"""What is to become of a Job: counted pods, indexes, and whether and why it is over.

Source: docs "Jobs"; k8s.io/kubernetes/pkg/controller/job (``syncJob``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kubetrio.controllers.job import indexes
from kubetrio.controllers.job.backoff import Backoff, remaining_s
from kubetrio.controllers.job.facts import (
    FAILED,
    FAILURE_TARGET,
    SUCCESS_MET,
    all_failures_of,
    completions,
    condition,
    failures_of,
    finished,
    has_failed,
    index_of,
    indexed,
    per_index,
    suspended,
    tracked,
    valid_index,
    waits_for_failure,
)
from kubetrio.controllers.job.indexes import Intervals
from kubetrio.controllers.job.policies import FAIL_INDEX, enough, judge
from kubetrio.controllers.podcontrol.podwriter import MOST_AT_ONCE
from kubetrio.controllers.podcontrol.ranking import in_active_order
from kubetrio.controllers.podcontrol.statuses import condition_of
from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]


@dataclass(slots=True)
class Assessment:
    """A Job and its pods at a moment.

    Args:
        job: as stored.
        pods: all that it has.
        now: wall clock, in seconds.
        backoff: failures that were counted before.

    Attributes:
        active: pods that run or are to run.
        terminating: how many pods are being deleted and still run.
        succeeded: how many pods succeeded, or indexes.
        failed: how many pods failed and count.
        before: indexes that had succeeded before.
        done: indexes that have succeeded.
        lost: indexes that have failed, None where they are not counted.
        delayed: pods that stay until another one of their index is there, by index.
        outcome: the condition with which the Job ends; None while it goes on.
    """

    job: Object
    pods: Sequence[Pod]
    now: float
    backoff: Backoff
    active: list[Pod] = field(init=False)
    terminating: int = field(init=False)
    succeeded: int = field(init=False)
    failed: int = field(init=False)
    before: Intervals = indexes.NONE
    done: Intervals = indexes.NONE
    lost: Intervals | None = None
    delayed: dict[int, Pod] = field(default_factory=dict)
    outcome: Object | None = None

    def __post_init__(self) -> None:
        status = self.status
        self.active = [pod for pod in self.pods if pod.active]
        self.terminating = sum(pod.terminating for pod in self.pods)
        uncounted = status.get("uncountedTerminatedPods") or {}
        won, lost = uncounted.get("succeeded") or (), uncounted.get("failed") or ()
        succeeded = [one for one in self._valid(won) if one.phase == "Succeeded"]
        failed = [one for one in self._valid(lost) if has_failed(self.job, one)]
        self.succeeded = (status.get("succeeded") or 0) + len(succeeded) + len(won)
        counted = sum(judge(self.job, pod).counts for pod in failed)
        self.failed = (status.get("failed") or 0) + counted + len(lost)
        self.backoff = self.backoff.after(succeeded, failed)
        self.outcome = self._ended_before() or self._failed_by_policy() or self._exceeded()
        if indexed(self.job):
            self._look_at_indexes()

    @property
    def status(self) -> Object:
        """The stored status."""
        return self.job.get("status") or {}

    @property
    def spec(self) -> Object:
        """The stored spec."""
        spec: Object = self.job["spec"]
        return spec

    def _valid(self, known: Sequence[str]) -> list[Pod]:
        """Pods that are to be counted."""
        return [
            pod
            for pod in self.pods
            if tracked(pod)
            and pod.uid not in known
            and (not indexed(self.job) or valid_index(self.job, pod))
        ]

    def _ended_before(self) -> Object | None:
        """What a sync before this one has found."""
        met = condition_of(self.status, SUCCESS_MET)
        if met is not None and met.get("status") == "True":
            return met
        target = condition_of(self.status, FAILURE_TARGET)
        if target is not None and target.get("status") == "True":
            reason, message = target.get("reason") or "", target.get("message") or ""
            return condition(FAILED, reason, message, self.now)
        return None

    def _failed_by_policy(self) -> Object | None:
        if self.spec.get("podFailurePolicy") is None:
            return None
        for pod in self.pods:
            if has_failed(self.job, pod) and (message := judge(self.job, pod).message):
                return condition(FAILURE_TARGET, "PodFailurePolicy", message, self.now)
        return None

    def _failure(self, reason: str, message: str) -> Object:
        return condition(FAILURE_TARGET, reason, message, self.now)

    def _exceeded(self) -> Object | None:
        limit = self.spec.get("backoffLimit")
        if (limit is not None and self.failed > limit) or self._restarts_exceed():
            message = "Job has reached the specified backoff limit"
            return self._failure("BackoffLimitExceeded", message)
        left_s = self.deadline_in()
        if left_s is not None and left_s <= 0:
            message = "Job was active longer than specified deadline"
            return self._failure("DeadlineExceeded", message)
        return None

    def deadline_in(self) -> float | None:
        """Seconds until the Job was active for too long; None where it may be for ever."""
        deadline, since = self.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if deadline is None or suspended(self.job):
            return None
        return float(deadline) - (self.now - parse_time(since) if since else 0.0)

    def _restarts_exceed(self) -> bool:
        template = self.spec.get("template") or {}
        if (template.get("spec") or {}).get("restartPolicy") != "OnFailure":
            return False
        limit = self.spec.get("backoffLimit") or 0
        count = sum(
            pod.run.restarts
            for pod in self.pods
            if pod.run is not None and pod.phase in ("Running", "Pending")
        )
        return count >= limit if limit else count > 0

    def _look_at_indexes(self) -> None:
        most = completions(self.job)
        self.before = indexes.parsed(self.status.get("completedIndexes") or "", most)
        counted = [pod for pod in self.pods if tracked(pod) and valid_index(self.job, pod)]
        self.done = indexes.with_indexes(
            self.before, (index_of(pod) for pod in counted if pod.phase == "Succeeded")
        )
        self.succeeded = indexes.total(self.done)
        if per_index(self.job) is not None:
            before = indexes.parsed(self.status.get("failedIndexes") or "", most)
            self.lost = indexes.with_indexes(
                before, (index_of(pod) for pod in counted if self._loses_index(pod))
            )
            self.outcome = self.outcome or self._too_many_lost(self.lost)
            self.delayed = self._delayed(counted, self.lost)
        if self.outcome is None and (message := enough(self.job, self.done)):
            self.outcome = condition(SUCCESS_MET, "SuccessPolicy", message, self.now)

    def _loses_index(self, pod: Pod) -> bool:
        if not has_failed(self.job, pod):
            return False
        verdict = judge(self.job, pod)
        limit = per_index(self.job) or 0
        return verdict.action == FAIL_INDEX or (verdict.counts and failures_of(pod) >= limit)

    def _too_many_lost(self, lost: Intervals) -> Object | None:
        count, most = indexes.total(lost), self.spec.get("maxFailedIndexes")
        if most is not None and count > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return self._failure("MaxFailedIndexesExceeded", message)
        if count and count + indexes.total(self.done) >= completions(self.job):
            return self._failure("FailedIndexes", "Job has failed indexes")
        return None

    def _delayed(self, counted: Sequence[Pod], lost: Intervals) -> dict[int, Pod]:
        """The last pods that failed of indexes that are to have another one."""
        running = {index_of(pod) for pod in self.active}
        last_failed = dict[int, Pod]()
        for pod in counted:
            index = index_of(pod)
            over = indexes.has(self.done, index) or indexes.has(lost, index) or index in running
            if over or not has_failed(self.job, pod):
                continue
            known = last_failed.get(index)
            later = known is None or (
                all_failures_of(known) <= all_failures_of(pod) and pod.ended >= known.ended
            )
            if later:
                last_failed[index] = pod
        return last_failed

    @property
    def wanted(self) -> int:
        """How many pods are to run at a time."""
        parallelism = self.spec.get("parallelism")
        most = 1 if parallelism is None else int(parallelism)
        if self.spec.get("completions") is None:
            return len(self.active) if self.succeeded > 0 else most
        return max(min(completions(self.job) - self.succeeded, most), 0)

    def surplus(self) -> list[Pod]:
        """Pods that are too many, or have an index that another one has."""
        if suspended(self.job):
            return self._removed(len(self.active))
        return self._removed(max(len(self.active) - self.wanted, 0))[:MOST_AT_ONCE]

    def _removed(self, least: int) -> list[Pod]:
        gone, left = list[Pod](), list(self.active)
        if indexed(self.job):
            gone, left = self._repeated()
        if len(gone) < least:
            gone += in_active_order(left)[: least - len(gone)]
        return gone

    def _repeated(self) -> tuple[list[Pod], list[Pod]]:
        """Pods without an index of their own, and the others."""
        gone, by_index = list[Pod](), dict[int, list[Pod]]()
        for pod in self.active:
            if valid_index(self.job, pod):
                by_index.setdefault(index_of(pod), []).append(pod)
            else:
                gone.append(pod)
        left = list[Pod]()
        for _, pods in sorted(by_index.items()):
            *more, last = in_active_order(pods)
            gone += more
            left.append(last)
        return gone, left

    def missing(self) -> int:
        """How many pods are to be made."""
        waits = self.terminating if waits_for_failure(self.job) else 0
        return min(max(self.wanted - waits - len(self.active), 0), MOST_AT_ONCE)

    def next_indexes(self, count: int) -> tuple[list[int], float]:
        """Indexes that get a pod now, and seconds to wait where none does.

        Args:
            count: how many at most.
        """
        taken = indexes.with_indexes(self.done, (max(index_of(pod), 0) for pod in self.active
                                                 if index_of(pod) >= 0))  # fmt: skip
        if waits_for_failure(self.job):
            going = (index_of(pod) for pod in self.pods if pod.terminating and index_of(pod) >= 0)
            taken = indexes.with_indexes(taken, going)
        if self.lost is not None:
            taken = indexes.merged(taken, self.lost)
        free = list(indexes.pending(taken, count, completions(self.job)))
        if per_index(self.job) is None:
            return free, 0.0
        waits = {index: self._index_wait(index) for index in free}
        ready = [index for index in free if waits[index] == 0]
        return ready, 0.0 if ready else min(waits.values(), default=0.0)

    def _index_wait(self, index: int) -> float:
        last = self.delayed.get(index)
        if last is None:
            return 0.0
        return remaining_s(all_failures_of(last) + 1, last.ended, self.now)

    def replaced(self, index: int) -> tuple[int, int] | None:
        """Failures of an index, those that count and others; None where nothing counts them."""
        if per_index(self.job) is None:
            return None
        last = self.delayed.get(index)
        if last is None:
            return 0, 0
        counts = judge(self.job, last).counts
        counted, ignored = failures_of(last), failures_of(last, ignored=True)
        return (counted + 1, ignored) if counts else (counted, ignored + 1)

    def complete(self, active: int) -> bool:
        """Whether enough pods have succeeded.

        Args:
            active: how many run or are to run.
        """
        if active:
            return False
        if self.spec.get("completions") is None:
            return self.succeeded > 0
        return self.succeeded >= completions(self.job)

    @property
    def over(self) -> bool:
        """Whether the stored Job is over."""
        return finished(self.job)
