"""Counts the pods of a Job that ended, each once, whatever is interrupted.

A pod has a finalizer until it is counted.  Its uid goes into the status first; then the finalizer
goes; then the uid goes from the status and a counter goes up.

Source: docs "Job termination and cleanup"; k8s.io/kubernetes/pkg/controller/job
(``trackJobStatusAndRemoveFinalizers``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from kubetrio.controllers.job import indexes
from kubetrio.controllers.job.assessment import Assessment
from kubetrio.controllers.job.facts import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_MET,
    condition,
    ensured,
    has_failed,
    index_of,
    indexed,
    per_index,
    tracked,
    valid_index,
)
from kubetrio.controllers.job.policies import judge
from kubetrio.controllers.podcontrol.statuses import condition_of
from kubetrio.controllers.podcontrol.view import Pod

Object = dict[str, Any]

MOST_UNCOUNTED = 500
"""Uids in a status at a time, so that it stays small."""


@dataclass(slots=True)
class Tracking:
    """The status of a Job as it becomes.

    Args:
        found: what is known of the Job.
        status: as it is to be but for what is counted; it is changed.

    Attributes:
        release: pods that lose their finalizer once the status is written.
        outcome: the condition with which the Job ends then; None while it goes on.
        changed: whether the status is to be written before.
        full: whether there are more pods to count than fit.
    """

    found: Assessment
    status: Object
    changed: bool
    release: list[Pod] = field(default_factory=list)
    outcome: Object | None = None
    full: bool = False
    succeeded: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        self.succeeded = list(uncounted.get("succeeded") or ())
        self.failed = list(uncounted.get("failed") or ())
        self.outcome = self.found.outcome
        held = {pod.uid for pod in self.found.pods if tracked(pod)}
        self.changed |= self.count(held)
        done = self._collect()
        if indexed(self.found.job):
            self._note_indexes(done)
        self._announce()
        self._write_uncounted()

    def count(self, held: Collection[str]) -> bool:
        """Count the pods that have lost their finalizer; returns whether there are any.

        Args:
            held: uids of those that have it.
        """
        before = len(self.succeeded), len(self.failed)
        self.succeeded = [uid for uid in self.succeeded if uid in held]
        self.failed = [uid for uid in self.failed if uid in held]
        won, lost = before[0] - len(self.succeeded), before[1] - len(self.failed)
        self.status["succeeded"] = (self.status.get("succeeded") or 0) + won
        self.status["failed"] = (self.status.get("failed") or 0) + lost
        self._write_uncounted()
        return bool(won or lost)

    def _write_uncounted(self) -> None:
        uncounted: Object = {}
        if self.succeeded:
            uncounted["succeeded"] = list(self.succeeded)
        if self.failed:
            uncounted["failed"] = list(self.failed)
        self.status["uncountedTerminatedPods"] = uncounted

    def _collect(self) -> list[int]:
        """Note pods to count; returns indexes that have succeeded."""
        pods, job = list(self.found.pods), self.found.job
        if indexed(job):
            pods.sort(key=index_of)
        known = set(self.succeeded), set(self.failed)
        done = list[int]()
        for pod in pods:
            if not tracked(pod) or not self._releases(pod):
                continue
            self.release.append(pod)
            if pod.phase == "Succeeded" and pod.uid not in known[1]:
                self._collect_success(pod, known[0], done)
            elif has_failed(job, pod) or self._fails_all():
                self._collect_failure(pod, known[1])
            if len(done) + len(self.succeeded) + len(self.failed) >= MOST_UNCOUNTED:
                self.full = True
                break
        return done

    def _releases(self, pod: Pod) -> bool:
        """Whether a pod may lose its finalizer."""
        job = self.found.job
        if job["metadata"].get("deletionTimestamp") or self.outcome or pod.phase == "Succeeded":
            return True
        if not has_failed(job, pod):
            return False
        delayed = self.found.delayed.get(index_of(pod)) if per_index(job) is not None else None
        return delayed is None or delayed.uid != pod.uid

    def _fails_all(self) -> bool:
        """Whether pods that did not end count as failed, since the Job is over."""
        return self.outcome is not None and self.outcome["type"] != SUCCESS_MET

    def _collect_success(self, pod: Pod, known: set[str], done: list[int]) -> None:
        job = self.found.job
        if indexed(job):
            if valid_index(job, pod) and not indexes.has(self.found.before, index_of(pod)):
                done.append(index_of(pod))
                self.changed = True
        elif pod.uid not in known:
            self.succeeded.append(pod.uid)
            self.changed = True

    def _collect_failure(self, pod: Pod, known: set[str]) -> None:
        job = self.found.job
        if pod.uid in known or (indexed(job) and not valid_index(job, pod)):
            return
        if judge(job, pod).counts:
            self.failed.append(pod.uid)
            self.changed = True

    def _note_indexes(self, done: list[int]) -> None:
        assessment = self.found
        all_done = indexes.with_indexes(assessment.before, done) if self.full else assessment.done
        text = indexes.text(all_done)
        self.changed |= text != (self.status.get("completedIndexes") or "")
        self.status["completedIndexes"] = text
        self.status["succeeded"] = indexes.total(all_done)
        lost = None if assessment.lost is None else indexes.text(assessment.lost)
        self.changed |= lost != self.status.get("failedIndexes")
        self.status["failedIndexes"] = lost

    def _announce(self) -> None:
        """Say how the Job is going to end before its pods are let go."""
        outcome, conditions = self.outcome, list(self.status.get("conditions") or ())
        if outcome is None:
            return
        reason, message, now = outcome["reason"], outcome["message"], self.found.now
        if outcome["type"] == FAILURE_TARGET:
            self.status["conditions"] = [*conditions, outcome]
            self.changed = True
            self.outcome = condition(FAILED, reason, message, now)
        elif outcome["type"] == SUCCESS_MET:
            if condition_of({"conditions": conditions}, SUCCESS_MET) is None:
                self.status["conditions"] = [*conditions, outcome]
                self.changed = True
            self.outcome = condition(COMPLETE, reason, message, now)

    def finish(self) -> bool:
        """Say that the Job is over, if nothing is left to count; returns whether it is."""
        waits = self.full or self.succeeded or self.failed
        if self.outcome is None or waits or (self.status.get("terminating") or 0) > 0:
            return False
        self.status["conditions"], _ = ensured(self.status.get("conditions") or (), self.outcome)
        if self.outcome["type"] == COMPLETE:
            self.status["completionTime"] = self.outcome["lastTransitionTime"]
        return True
