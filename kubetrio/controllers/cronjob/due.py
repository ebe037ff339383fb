"""Which start of a CronJob is due, and when to look again.

Source: k8s.io/kubernetes/pkg/controller/cronjob (``mostRecentScheduleTime``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.cronjob.schedules import Schedule
from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]

DELTA_S = 0.1
"""How long after a start is due it is looked at, so that clocks may differ a little."""
MANY = 100


class InvalidSchedule(ValueError):
    """A schedule that is never due; the text says why."""


class Recent(NamedTuple):
    """The starts of a CronJob up to now.

    Args:
        since: from which time on they are looked at, in seconds.
        due: the last of them, None where there is none.
        missed: about how many there are.
    """

    since: float
    due: int | None
    missed: int


def recent(cron_job: Object, schedule: Schedule, now: float, *, deadline: bool) -> Recent:
    """The starts since the last one.

    Args:
        cron_job: as stored.
        schedule: its schedule.
        now: wall clock, in seconds.
        deadline: whether those that come too late are left out.

    Raises:
        InvalidSchedule: it is never due.
    """
    status, spec = cron_job.get("status") or {}, cron_job["spec"]
    last = status.get("lastScheduleTime") or cron_job["metadata"].get("creationTimestamp")
    since = parse_time(last) if last else now
    late_s = spec.get("startingDeadlineSeconds")
    if deadline and late_s is not None:
        since = max(since, now - late_s)
    first = schedule.after(since)
    second = None if first is None else schedule.after(first)
    if first is None or second is None:
        raise InvalidSchedule("time difference between two schedules is less than 1 second")
    if now < first:
        return Recent(since, None, 0)
    if now < second:
        return Recent(since, first, 0)
    between = second - first
    missed = int(now - first) // between + 1
    later, due = schedule.after(first + (missed - 2) * between), None
    while later is not None and later <= now:
        due, later = later, schedule.after(later)
    return Recent(since, due, missed)


def next_in(cron_job: Object, schedule: Schedule, now: float) -> float:
    """Seconds until the next start is to be looked at; for the arguments see `recent`."""
    try:
        starts = recent(cron_job, schedule, now, deadline=False)
        begin = starts.due if starts.due is not None else (now if starts.missed else starts.since)
    except InvalidSchedule:
        begin = now
    after = schedule.after(begin)
    return 0.0 if after is None else after + DELTA_S - now
