"""Controllers of pods: apps, batch, and the scale of either."""

from __future__ import annotations

from typing import Any

from kubetrio.api.printers.helpers import (
    INVALID,
    NONE,
    age,
    condition,
    containers,
    deleting,
    duration,
    epoch,
    field,
    items,
    labels,
    name,
    number,
    optional,
    selector,
    selector_cell,
    since,
    text,
)
from kubetrio.api.printers.model import Cells, GroupResourceKey, Json

# Which condition of a job gives its status, first match; deletion comes between the two groups.
JOB_ENDED = (("Complete", "Complete"), ("Failed", "Failed"))
JOB_ACTIVE = (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget"))


def _pod_spec(obj: Json) -> Any:
    return field(obj, "spec", "template", "spec")


def _replicas(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images."""
    status = obj.get("status")
    return [
        name(obj),
        number(obj, "spec", "replicas"),
        number(status, "replicas"),
        number(status, "readyReplicas"),
        age(obj, now),
        *containers(_pod_spec(obj)),
    ]


def replication_controller(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*_replicas(obj, now), labels(field(obj, "spec", "selector"))]


def replica_set(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*_replicas(obj, now), selector_cell(field(obj, "spec", "selector"))]


def _ready_of_desired(obj: Json) -> str:
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def deployment(obj: Json, now: float) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    chosen = selector(field(obj, "spec", "selector"))
    return [
        name(obj),
        _ready_of_desired(obj),
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age(obj, now),
        *containers(_pod_spec(obj)),
        # Unlike in other workloads, an empty selector prints as nothing.
        INVALID if chosen is None else chosen,
    ]


def stateful_set(obj: Json, now: float) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    return [name(obj), _ready_of_desired(obj), age(obj, now), *containers(_pod_spec(obj))]


def daemon_set(obj: Json, now: float) -> list[Any]:
    """Name, five counts, Node Selector, Age, Containers, Images, Selector."""
    status = obj.get("status")
    return [
        name(obj),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels(field(_pod_spec(obj), "nodeSelector")),
        age(obj, now),
        *containers(_pod_spec(obj)),
        selector_cell(field(obj, "spec", "selector")),
    ]


def controller_revision(obj: Json, now: float) -> list[Any]:
    """Name, Controller, Revision, Age."""
    controller = NONE
    for owner in items(obj, "metadata", "ownerReferences"):
        if field(owner, "controller"):
            group, _, _ = text(owner, "apiVersion").rpartition("/")
            kind = text(owner, "kind").lower()
            controller = f"{kind}.{group}" if group else kind
            controller = f"{controller}/{text(owner, 'name')}"
            break
    return [name(obj), controller, number(obj, "revision"), age(obj, now)]


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
        *containers(_pod_spec(obj)),
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


def scale(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Available, Age."""
    desired, available = number(obj, "spec", "replicas"), number(obj, "status", "replicas")
    return [name(obj), desired, available, age(obj, now)]


CELLS: dict[GroupResourceKey, Cells] = {
    ("", "replicationcontrollers"): replication_controller,
    ("apps", "controllerrevisions"): controller_revision,
    ("apps", "daemonsets"): daemon_set,
    ("apps", "deployments"): deployment,
    ("apps", "replicasets"): replica_set,
    ("apps", "statefulsets"): stateful_set,
    ("autoscaling", "scale"): scale,
    ("batch", "cronjobs"): cron_job,
    ("batch", "jobs"): job,
}
