"""Writes to the status of Jobs.

Source: KEP-4368 (rules that hold whoever manages a Job) and the JobStatus of the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.machinery.fielderrors import duplicate, invalid, required
from kubetrio.machinery.status import Cause
from kubetrio.machinery.timestamps import parse_time
from kubetrio.resources.validation.library import Causes, Json, member
from kubetrio.resources.validation.replicas import counts

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def _true(status: Mapping[str, Any]) -> set[str]:
    return {
        condition.get("type") or ""
        for condition in status.get("conditions") or ()
        if condition.get("status") == "True"
    }


def _conditions(detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", "status.conditions")


def _uncounted(status: Mapping[str, Any], out: Causes) -> None:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(member(status, "uncountedTerminatedPods").get(name) or ()):
            where = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                out.append(invalid(where, uid, "must not be empty"))
            elif uid in seen:
                out.append(duplicate(where, uid))
            seen.add(uid)


def _finished(status: Mapping[str, Any], out: Causes) -> None:
    for name in ("active", "terminating"):
        number = status.get(name) or 0
        if number > 0:
            detail = f"{name}>0 is invalid for finished job"
            out.append(invalid(f"status.{name}", number, detail))
    if not status.get("startTime"):
        out.append(required("status.startTime", "startTime is required for finished job"))
    pods = member(status, "uncountedTerminatedPods")
    if pods.get("succeeded") or pods.get("failed"):
        detail = "uncountedTerminatedPods needs to be empty for finished job"
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        out.append(invalid("status.uncountedTerminatedPods", shown, detail))


def update_status(new: Json, old: Json, out: Causes) -> None:
    """Check a write to ``status`` of a Job.

    Args:
        new: the Job as it would be stored.
        old: the Job as it is stored; what was wrong already may stay.
        out: receives causes.
    """
    found: Causes = []
    before: Causes = []
    _status(member(new, "status"), found)
    _status(member(old, "status"), before)
    known = {(cause.reason, cause.field) for cause in before}
    out.extend(cause for cause in found if (cause.reason, cause.field) not in known)


def _status(status: Mapping[str, Any], out: Causes) -> None:
    counts(dict(status), _COUNTS, out)
    _uncounted(status, out)
    true = _true(status)
    for other, shown in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
        if "Complete" in true and other in true:
            out.append(_conditions(f"cannot set Complete=True and {shown} conditions"))
    if "Failed" in true and "FailureTarget" not in true:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        out.append(_conditions(detail))
    if true & {"Complete", "Failed"}:
        _finished(status, out)
    _completion_time(status, "Complete" in true, out)


def _completion_time(status: Mapping[str, Any], complete: bool, out: Causes) -> None:
    path = "status.completionTime"
    ended, started = status.get("completionTime"), status.get("startTime")
    if not ended:
        if complete:
            out.append(required(path, "completionTime is required for Complete jobs"))
        return
    if not complete:
        detail = "cannot set completionTime when there is no Complete=True condition"
        out.append(invalid(path, ended, detail))
    if started and parse_time(ended) < parse_time(started):
        detail = "completionTime cannot be set before startTime"
        out.append(invalid(path, ended, detail))
