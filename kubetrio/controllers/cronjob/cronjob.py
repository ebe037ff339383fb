"""Starts the Jobs of CronJobs, and deletes old ones.

Source: docs "CronJob"; k8s.io/kubernetes/pkg/controller/cronjob.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from email.utils import format_datetime
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.cronjob.due import MANY, InvalidSchedule, next_in, recent
from kubetrio.controllers.cronjob.schedules import Schedule, parsed, zone_of
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.podwriter import about, namespace_ends
from kubetrio.controllers.podcontrol.statuses import printed
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder
from kubetrio.controllers.replicaset.replicaset import OWNER, owner_uid
from kubetrio.informers.informer import Item
from kubetrio.kinds.core.pods.digests import owner_of
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.store.errors import StoreError

Object = dict[str, Any]

ACCOUNT = "cronjob-controller"
STATUS = "io.k8s.api.batch.v1.CronJobStatus"
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
DOCS = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
KIND = "CronJob"


class CronJobController(Controller):
    """The controller; its keys are namespaces and names of CronJobs.

    Args:
        context: what it is made of.
    """

    name = "cronjob-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["batch", "v1", "cronjobs"]
        self._job_kind = context.registry.resources["batch", "v1", "jobs"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            ACCOUNT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._cron_jobs = self.follow(self._kind, self._cron_job_changed)
        self._jobs = self.follow(self._job_kind, self._job_changed)
        self._jobs.indexer.add_index(OWNER, owner_uid)
        self.beside.append(self._events.run)

    def _cron_job_changed(self, _: Item | None, item: Item | None) -> None:
        if item is not None:
            self.queue.add(item.key.removeprefix(self._kind.storage_prefix))

    def _job_changed(self, old: Item | None, new: Item | None) -> None:
        for item in (old, new):
            if item is not None:
                meta = item.object["metadata"]
                owner = owner_of(meta)
                if owner is not None and owner.kind == KIND:
                    self.queue.add(f"{meta['namespace']}/{owner.name}")

    def _record(self, owner: Controlling, type_: str, reason: str, message: str) -> None:
        self._events.record(about(owner), type_, reason, message)

    async def sync(self, key: str) -> None:
        """Start the Job that is due, and delete those that are too many.

        Raises:
            ApiError: something cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        obj = self._cron_jobs.lister.get(name, namespace)
        if obj is None:
            return
        owner = Controlling(self._kind.api_version, self._kind.kind, obj)
        items = self._jobs.indexer.by_index(OWNER, owner.meta["uid"])
        jobs = [item.object for item in items]
        status = {**(obj.get("status") or {})}
        status["active"] = list(status.get("active") or ())
        await self._clean(owner, jobs, status)
        self._look_at(owner, jobs, status)
        failure: ApiError | StoreError | None = None
        if not owner.deleting:
            try:
                await self._start(key, owner, status)
            except (ApiError, StoreError) as error:
                failure = error
        await self._tell(owner, status)
        if failure is not None and not namespace_ends(failure):
            raise failure

    # ------------------------------------------------------------------ Jobs that there are

    async def _clean(self, owner: Controlling, jobs: Sequence[Object], status: Object) -> None:
        """Delete Jobs that ended and are beyond the history."""
        spec = owner.obj["spec"]
        for name, end in (
            ("successfulJobsHistoryLimit", "Complete"),
            ("failedJobsHistoryLimit", "Failed"),
        ):
            limit = spec.get(name)
            ended = [one for one in jobs if end_of(one) == end]
            if limit is None or len(ended) <= limit:
                continue
            for one in sorted(ended, key=_start)[: len(ended) - limit]:
                await self._delete(owner, one, status)

    async def _delete(self, owner: Controlling, job: Object, status: Object) -> bool:
        meta = job["metadata"]
        target = Target(self._job_kind, meta["namespace"], meta["name"])
        try:
            await self._operations.delete(
                target, DeleteOptions(propagation="Background"), self._who
            )
        except (ApiError, StoreError) as error:
            self._record(owner, WARNING, "FailedDelete", f"Deleted job: {error}")
            return False
        _forget(status, meta["uid"])
        self._record(owner, NORMAL, "SuccessfulDelete", f"Deleted job {meta['name']}")
        return True

    def _look_at(self, owner: Controlling, jobs: Sequence[Object], status: Object) -> None:
        """Note which Jobs still run, and when one succeeded."""
        for job in jobs:
            meta, ended = job["metadata"], end_of(job)
            known = any(one.get("uid") == meta["uid"] for one in status["active"])
            if not known and not ended:
                message = f"Saw a job that the controller did not create or forgot: {meta['name']}"
                self._record(owner, WARNING, "UnexpectedJob", message)
            elif known and ended:
                _forget(status, meta["uid"])
                message = f"Saw completed job: {meta['name']}, condition: {ended}"
                self._record(owner, NORMAL, "SawCompletedJob", message)
            if ended == "Complete":
                time = (job.get("status") or {}).get("completionTime")
                last = status.get("lastSuccessfulTime")
                if time and (not last or parse_time(time) > parse_time(last)):
                    status["lastSuccessfulTime"] = time
        there = {job["metadata"]["uid"] for job in jobs}
        for one in list(status["active"]):
            if one.get("uid") not in there and not self._is_there(one):
                message = f"Active job went missing: {one.get('name')}"
                self._record(owner, NORMAL, "MissingJob", message)
                _forget(status, one.get("uid"))

    def _is_there(self, reference: Object) -> bool:
        """Whether a Job exists that is not the CronJob's any more."""
        job = self._jobs.lister.get(reference.get("name") or "", reference.get("namespace") or "")
        return job is not None and job["metadata"]["uid"] == reference.get("uid")

    # ------------------------------------------------------------------ the Job that is due

    def _schedule(self, owner: Controlling) -> Schedule | None:
        spec = owner.obj["spec"]
        zone, text = spec.get("timeZone"), spec.get("schedule") or ""
        if zone is not None:
            try:
                zone_of(zone)
            except ValueError as error:
                message = f"invalid timeZone: {quote(zone)}: {error}"
                self._record(owner, WARNING, "UnknownTimeZone", message)
                return None
        if spec.get("suspend"):
            return None
        if "TZ" in text:
            message = (
                f"CRON_TZ or TZ used in schedule {quote(text)} is not officially supported, "
                f"see {DOCS} for more details"
            )
            self._record(owner, WARNING, "UnsupportedSchedule", message)
        try:
            return parsed(text, zone)
        except ValueError as error:
            message = f"unparseable schedule: {quote(text)} : {error}"
            self._record(owner, WARNING, "UnparseableSchedule", message)
            return None

    async def _start(self, key: str, owner: Controlling, status: Object) -> None:
        schedule = self._schedule(owner)
        if schedule is None:
            return
        now, spec = self._env.now(), owner.obj["spec"]
        looked_at = {**owner.obj, "status": status}
        try:
            starts = recent(looked_at, schedule, now, deadline=True)
        except InvalidSchedule as error:
            message = f"invalid schedule: {spec.get('schedule')} : {error}"
            self._record(owner, WARNING, "InvalidSchedule", message)
            return
        if starts.due is not None:
            if starts.missed > MANY:
                message = (
                    "too many missed start times. Set or decrease "
                    ".spec.startingDeadlineSeconds or check clock skew"
                )
                self._record(owner, WARNING, "TooManyMissedTimes", message)
            if not await self._start_due(owner, status, starts.due, now):
                return
        after = next_in({**owner.obj, "status": status}, schedule, now)
        self.look_again_in(key, max(after, 0.0))

    async def _start_due(self, owner: Controlling, status: Object, due: int, now: float) -> bool:
        """Start a Job unless something speaks against it; returns whether to go on as planned.

        Raises:
            ApiError: it cannot be started.
            StoreError: the same.
        """
        spec = owner.obj["spec"]
        late_s = spec.get("startingDeadlineSeconds")
        if late_s is not None and due + late_s < now:
            time = format_datetime(dt.datetime.fromtimestamp(due, dt.UTC))
            message = f"Missed scheduled time to start a job: {time}"
            self._record(owner, WARNING, "MissSchedule", message)
            return True
        name = f"{owner.meta['name']}-{due // 60}"
        last = status.get("lastScheduleTime")
        if any(one.get("name") == name for one in status["active"]) or (
            last and parse_time(last) == due
        ):
            return True
        policy = spec.get("concurrencyPolicy")
        if policy == "Forbid" and status["active"]:
            message = (
                "Not starting job because prior execution is running and concurrency policy is "
                "Forbid"
            )
            self._record(owner, NORMAL, "JobAlreadyActive", message)
            return True
        if policy == "Replace":
            await self._replace(owner, status)
        return await self._create(owner, status, name, due)

    async def _replace(self, owner: Controlling, status: Object) -> None:
        for one in list(status["active"]):
            namespace, name = one.get("namespace") or "", one.get("name") or ""
            job = self._jobs.lister.get(name, namespace)
            if job is not None and not await self._delete(owner, job, status):
                raise ApiError(500, "", f"could not replace job {namespace}/{name}")

    async def _create(self, owner: Controlling, status: Object, name: str, due: int) -> bool:
        body = new_job(owner, name, due)
        target = Target(self._job_kind, owner.meta["namespace"])
        try:
            await self._operations.create(target, body, self._who)
        except (ApiError, StoreError) as error:
            if isinstance(error, ApiError) and error.reason == "AlreadyExists":
                job = self._jobs.lister.get(name, owner.meta["namespace"])
                above = None if job is None else owner_of(job["metadata"])
                if above is None or above.uid != owner.meta["uid"]:
                    return False
            else:
                if not namespace_ends(error):
                    self._record(owner, WARNING, "FailedCreate", f"Error creating job: {error}")
                raise
        else:
            self._record(owner, NORMAL, "SuccessfulCreate", f"Created job {name}")
        job = self._jobs.lister.get(name, owner.meta["namespace"])
        if job is not None and not end_of(job):
            status["active"] = [*status["active"], _reference(job)]
        status["lastScheduleTime"] = format_time(due)
        return True

    async def _tell(self, owner: Controlling, status: Object) -> None:
        new = printed(STATUS, status)
        if new == (owner.obj.get("status") or {}):
            return
        meta = owner.meta

        def told(old: Object) -> Object:
            if old["metadata"]["uid"] != meta["uid"]:
                raise ApiError(409, "Conflict", f"{meta['name']} is another object now")
            return {**old, "status": new}

        target = Target(self._kind, meta["namespace"], meta["name"], "status")
        await self._operations.patch(target, told, self._who)


def end_of(job: Object) -> str:
    """``Complete`` or ``Failed``, empty for a Job that goes on."""
    for one in (job.get("status") or {}).get("conditions") or ():
        if one.get("type") in ("Complete", "Failed") and one.get("status") == "True":
            return str(one["type"])
    return ""


def _start(job: Object) -> tuple[bool, str, str]:
    """The order in which old Jobs go: those that never started come last."""
    time = (job.get("status") or {}).get("startTime") or ""
    return not time, time, job["metadata"]["name"]


def _forget(status: Object, uid: str | None) -> None:
    status["active"] = [one for one in status["active"] if one.get("uid") != uid]


def _reference(job: Object) -> Object:
    meta = job["metadata"]
    return {
        "kind": "Job",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": "batch/v1",
        "resourceVersion": meta["resourceVersion"],
    }


def new_job(owner: Controlling, name: str, due: int) -> Object:
    """The Job of a start.

    Args:
        owner: the CronJob.
        name: of the Job.
        due: when it is to start, in seconds.
    """
    template = owner.obj["spec"].get("jobTemplate") or {}
    described = template.get("metadata") or {}
    zone = zone_of(owner.obj["spec"].get("timeZone") or "")
    time = dt.datetime.fromtimestamp(due, zone).isoformat()
    meta: Object = {
        "name": name,
        "namespace": owner.meta["namespace"],
        "labels": dict(described.get("labels") or {}),
        "annotations": {
            **(described.get("annotations") or {}),
            SCHEDULED: time.replace("+00:00", "Z") if zone is dt.UTC else time,
        },
        "ownerReferences": [owner.reference()],
    }
    if not meta["labels"]:
        del meta["labels"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": copy_json(template.get("spec") or {}),
    }
