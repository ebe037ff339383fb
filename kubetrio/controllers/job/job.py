"""Runs the pods of Jobs.

Source: docs "Jobs"; k8s.io/kubernetes/pkg/controller/job.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.job.assessment import Assessment
from kubetrio.controllers.job.backoff import Backoff
from kubetrio.controllers.job.facts import (
    COMPLETE,
    FINALIZER,
    SUCCESS_MET,
    SUSPENDED,
    completions,
    condition,
    ensured,
    finished,
    indexed,
    managed_elsewhere,
    new_pod,
    per_index,
    suspended,
    tracked,
)
from kubetrio.controllers.job.tracking import Tracking
from kubetrio.controllers.podcontrol.claims import Claimable, Controlling, claims
from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.podwriter import (
    Failure,
    PodWriter,
    all_of,
    slow_start,
)
from kubetrio.controllers.podcontrol.selectors import OwnerSelectors, owners_of
from kubetrio.controllers.podcontrol.statuses import printed
from kubetrio.controllers.podcontrol.view import Pod, views_of
from kubetrio.controllers.recorder import NORMAL, WARNING
from kubetrio.informers.informer import NAMESPACE, Item
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.writes import Target

Object = dict[str, Any]

ACCOUNT = "job-controller"
STATUS = "io.k8s.api.batch.v1.JobStatus"
KIND = "Job"
_ORPHAN = "pod:"


class JobController(Controller):
    """The controller; its keys are namespaces and names of Jobs, and of pods that are no Job's.

    Args:
        context: what it is made of.
    """

    name = "job-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["batch", "v1", "jobs"]
        self._who = as_service_account(ACCOUNT)
        self._selectors = OwnerSelectors(self._kind)
        self._backoffs: dict[str, Backoff] = {}  # by uid of the Job
        self._jobs = self.follow(self._kind, self._job_changed)
        self._writer = PodWriter(context, ACCOUNT, ACCOUNT, (FINALIZER,))
        views = views_of(context.informers)
        self.sources.append(views)
        self._pods = OwnedPods(self._kind.kind, views, self._pod_changed)
        self.beside.append(self._writer.events.run)

    def _job_changed(self, old: Item | None, item: Item | None) -> None:
        if old is not None and (item is None or finished(item.object)):
            self._backoffs.pop(old.object["metadata"]["uid"], None)
            for pod in self._pods.of(old.object["metadata"]["uid"]):
                if tracked(pod):
                    self.queue.add(f"{_ORPHAN}{pod.namespace}/{pod.name}")
        key = self._selectors.note(old, item)
        if key is not None:
            self.queue.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for key in owners_of(old, new):
            self.queue.add(key)
        if new is None:
            return
        if tracked(new) and self._is_orphan(new):
            self.queue.add(f"{_ORPHAN}{new.namespace}/{new.name}")
        if new.owner is None:
            jobs = self._jobs.indexer.by_index(NAMESPACE, new.namespace)
            for key in self._selectors.selecting(jobs, new.label_map):
                self.queue.add(key)

    def _is_orphan(self, pod: Pod) -> bool:
        """Whether a pod has no Job that counts it."""
        if pod.owner is None:
            return True
        job = self._jobs.lister.get(pod.owner.name, pod.namespace)
        if job is None or job["metadata"]["uid"] != pod.owner.uid:
            return True
        return finished(job) and not managed_elsewhere(job)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; failures of another time are forgotten."""
        self._backoffs.clear()
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Make and delete the pods of a Job and count those that ended, or let go of a pod.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        if key.startswith(_ORPHAN):
            await self._let_go(key.removeprefix(_ORPHAN))
            return
        namespace, _, name = key.partition("/")
        job = self._jobs.lister.get(name, namespace)
        if job is None or managed_elsewhere(job) or finished(job):
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, job)
        pods = await self._claimed(owner)
        uid = owner.meta["uid"]
        assessment = Assessment(job, pods, self._env.now(), self._backoffs.get(uid, Backoff()))
        if (left_s := assessment.deadline_in()) is not None and assessment.outcome is None:
            self.look_again_in(key, left_s)
        await self._run(key, owner, assessment)

    async def _let_go(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        pod = self._pods.pods.get(namespace, name)
        if pod is not None and tracked(pod) and self._is_orphan(pod):
            await self._release(pod)

    async def _release(self, pod: Pod) -> None:
        """Take the finalizer from a pod, if it is there."""

        def released(old: Object) -> Object:
            if old["metadata"].get("uid") != pod.uid:
                return old
            left = [one for one in old["metadata"].get("finalizers") or () if one != FINALIZER]
            meta = {**old["metadata"], "finalizers": left}
            if not left:
                del meta["finalizers"]
            return {**old, "metadata": meta}

        try:
            await self._writer.patch(pod.namespace, pod.name, released)
        except ApiError as error:
            if error.code != 404:
                raise

    async def _claimed(self, owner: Controlling) -> list[Pod]:
        meta = owner.meta
        selector = self._selectors.of(meta["namespace"], meta["name"])

        def look(pod: Pod) -> Claimable:
            return Claimable(pod.owner, pod.deleting, selector.matches(pod.label_map))

        candidates = [*self._pods.of(meta["uid"]), *self._pods.orphans(meta["namespace"])]
        return await self._writer.claim(owner, claims(owner, candidates, look))

    async def _run(self, key: str, owner: Controlling, found: Assessment) -> None:
        job, status = owner.obj, dict(owner.obj.get("status") or {})
        before = dict(status)
        if not status.get("startTime") and not suspended(job):
            status["startTime"] = format_time(found.now)
        active, ready = len(found.active), sum(pod.ready for pod in found.active)
        terminating, failure, changed = found.terminating, None, False
        if found.outcome is not None:
            gone, failure = await self._delete(owner, found.active)
            if len(gone) != active:
                found.outcome = None
            active, ready = active - len(gone), ready - sum(pod.ready for pod in gone)
            terminating += len(gone)
        else:
            managed = not owner.deleting
            if managed:
                active, gone, failure = await self._manage(key, owner, found)
                ready -= sum(pod.ready for pod in gone)
                terminating += len(gone)
            if found.complete(active):
                message = "Reached expected number of succeeded pods"
                found.outcome = condition(SUCCESS_MET, "CompletionsReached", message, found.now)
            elif managed:
                changed = self._suspend(owner, status, found.now)
        numbers = {"active": active, "ready": ready, "terminating": terminating}
        changed |= any(
            before.get(name) != number if name != "active" else (before.get(name) or 0) != number
            for name, number in numbers.items()
        )
        await self._track(owner, found, {**status, **numbers}, changed)
        if failure is not None:
            raise failure

    def _suspend(self, owner: Controlling, status: Object, now: float) -> bool:
        """Say whether a Job is suspended; returns whether that is news."""
        if suspended(owner.obj):
            new = condition(SUSPENDED, "JobSuspended", "Job suspended", now)
            event, started = ("Suspended", "Job suspended"), None
        else:
            new = condition(SUSPENDED, "JobResumed", "Job resumed", now, "False")
            event, started = ("Resumed", "Job resumed"), format_time(now)
        conditions, changed = ensured(status.get("conditions") or (), new)
        if changed:
            status["conditions"], status["startTime"] = conditions, started
            self._writer.record(owner, NORMAL, *event)
        return changed

    async def _delete(
        self, owner: Controlling, pods: Sequence[Pod], *, uncounted: bool = False
    ) -> tuple[list[Pod], Failure | None]:
        """Delete pods; returns those that are deleted, and what went wrong.

        Args:
            owner: the Job.
            pods: of it.
            uncounted: whether they are not to be counted.
        """
        gone = list[Pod]()

        async def delete(pod: Pod) -> None:
            if uncounted and tracked(pod):
                await self._release(pod)
            await self._writer.delete(owner, pod.name)
            gone.append(pod)

        failed = await all_of(partial(delete, pod) for pod in pods)
        return gone, failed[0] if failed else None

    async def _manage(
        self, key: str, owner: Controlling, found: Assessment
    ) -> tuple[int, list[Pod], Failure | None]:
        """Make or delete pods; returns how many are active then, those deleted, what failed."""
        active = len(found.active)
        surplus = found.surplus()
        if surplus or suspended(owner.obj):
            gone, failure = await self._delete(owner, surplus, uncounted=True)
            return active - len(gone), gone, failure
        count = found.missing()
        if count == 0:
            return active, [], None
        wait_s, chosen = 0.0, list[int]()
        if per_index(owner.obj) is None:
            wait_s = found.backoff.left_s(found.now)
        if wait_s == 0 and indexed(owner.obj):
            chosen, wait_s = found.next_indexes(count)
            count = len(chosen)
        if wait_s > 0:
            self.look_again_in(key, wait_s)
            return 0, [], None  # as kube-controller-manager has it while it waits
        calls = [
            partial(self._create, owner, found, chosen[number] if chosen else None)
            for number in range(count)
        ]
        made, failure = await slow_start(calls)
        return active + made, [], failure

    async def _create(self, owner: Controlling, found: Assessment, index: int | None) -> None:
        replaced = None if index is None else found.replaced(index)
        await self._writer.create(owner, new_pod(owner, index, replaced))

    async def _track(
        self, owner: Controlling, found: Assessment, status: Object, changed: bool
    ) -> None:
        """Count pods, and say that the Job is over when all are counted.

        Raises:
            ApiError: something cannot be written; the next sync goes on from there.
            StoreError: the same.
        """
        tracking = Tracking(found, status, changed)
        if tracking.changed:
            await self._tell(owner, tracking.status)
            self._backoffs[owner.meta["uid"]] = found.backoff
        held = {pod.uid for pod in found.pods if tracked(pod)}

        async def release(pod: Pod) -> None:
            await self._release(pod)
            held.discard(pod.uid)

        failed = await all_of(partial(release, pod) for pod in tracking.release)
        counted = tracking.count(held)
        over = not failed and tracking.finish()
        if counted or over:
            await self._tell(owner, tracking.status)
        if failed:
            raise failed[0]
        if over and tracking.outcome is not None:
            self._tell_end(owner, tracking.status, tracking.outcome)

    async def _tell(self, owner: Controlling, status: Object) -> None:
        meta, new = owner.meta, dict(status)

        def told(old: Object) -> Object:
            if old["metadata"]["uid"] != meta["uid"] or finished(old):
                raise ApiError(409, "Conflict", f"{meta['name']} has changed")
            return {**old, "status": printed(STATUS, new)}

        target = Target(self._kind, meta["namespace"], meta["name"], "status")
        await self._operations.patch(target, told, self._who)

    def _tell_end(self, owner: Controlling, status: Object, outcome: Object) -> None:
        if outcome["type"] != COMPLETE:
            self._writer.record(owner, WARNING, outcome["reason"], outcome["message"])
            return
        completed = completions(owner.obj)
        if owner.obj["spec"].get("completions") is not None and status["succeeded"] > completed:
            message = "Too many succeeded pods running after completion count reached"
            self._writer.record(owner, WARNING, "TooManySucceededPods", message)
        self._writer.record(owner, NORMAL, "Completed", "Job completed")
