"""How objects of batch become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    age,
    condition,
    containers,
    deleting,
    duration,
    epoch,
    field,
    items,
    name,
    number,
    optional,
    pod_spec_of,
    selector_cell,
    since,
    text,
)
from kubetrio.schema.printing import Json

# Which condition of a job gives its status, first match; deletion comes between the two groups.
JOB_ENDED = (("Complete", "Complete"), ("Failed", "Failed"))


JOB_ACTIVE = (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget"))


def _job_completions(obj: Json) -> str:
    succeeded, completions = number(obj, "status", "succeeded"), field(obj, "spec", "completions")
    if completions is not None:
        return f"{succeeded}/{completions}"
    parallelism = number(obj, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(obj: Json, now: float) -> str:
    start = epoch(field(obj, "status", "startTime"))
    if start is None:
        return ""
    end = epoch(field(obj, "status", "completionTime"))
    return duration((now if end is None else end) - start)


def _job_status(obj: Json) -> str:
    def first(table: tuple[tuple[str, str], ...]) -> str:
        return next(
            (word for kind, word in table if text(condition(obj, kind), "status") == "True"), ""
        )

    return first(JOB_ENDED) or ("Terminating" if deleting(obj) else first(JOB_ACTIVE) or "Running")


def job(obj: Json, now: float) -> list[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    return [
        name(obj),
        _job_status(obj),
        _job_completions(obj),
        _job_duration(obj, now),
        age(obj, now),
        *containers(pod_spec_of(obj)),
        selector_cell(field(obj, "spec", "selector")),
    ]


def cron_job(obj: Json, now: float) -> list[Any]:
    """Name, Schedule, Timezone, Suspend, Active, Last Schedule, Age, and those of its jobs."""
    suspend = field(obj, "spec", "suspend")
    last = field(obj, "status", "lastScheduleTime")
    template = field(obj, "spec", "jobTemplate")
    return [
        name(obj),
        text(obj, "spec", "schedule"),
        optional(field(obj, "spec", "timeZone"), NONE),
        optional(suspend),  # a boolean prints as "True" or "False"
        len(items(obj, "status", "active")),
        NONE if last is None else since(last, now),
        age(obj, now),
        *containers(field(template, "spec", "template", "spec")),
        selector_cell(field(template, "spec", "selector")),
    ]
