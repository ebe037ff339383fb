"""Writes to the status of Jobs.

Source: KEP-4368 (rules that hold for every manager of a Job), KEP-3998 (success criteria), KEP-3850
(failed indexes) and the JobStatus of the API reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.kinds.batch.validation.jobspec import count_indexes, index_interval
from kubetrio.kinds.common.checks import Causes, Json, member
from kubetrio.kinds.common.replicas import counts
from kubetrio.machinery.fielderrors import duplicate, invalid, invalid_pointer, required
from kubetrio.machinery.status import Cause
from kubetrio.machinery.timestamps import parse_time

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget")
_TIME = "status.completionTime"


def _with(status: Mapping[str, Any], value: str) -> set[str]:
    """The conditions that have a value."""
    return {
        condition.get("type") or ""
        for condition in status.get("conditions") or ()
        if condition.get("status") == value
    }


def _conditions(detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", "status.conditions")


class _Write:
    """What a write to a status changes.

    Most rules only hold for what a write changes: what was wrong already may stay, and what a
    change of the spec made wrong may be put right later.

    Args:
        new: the Job as it would be stored.
        old: the Job as it is stored.
    """

    def __init__(self, new: Json, old: Json) -> None:
        self.spec = member(new, "spec")
        self.status, self.before = member(new, "status"), member(old, "status")
        self.true, self.was_true = _with(self.status, "True"), _with(self.before, "True")
        self.resumes = "Suspended" in self.was_true & _with(self.status, "False")
        self.finished = bool(self.true & {"Complete", "Failed"})
        was_finished = bool(self.was_true & {"Complete", "Failed"})
        self.end_changed = self.finished != was_finished

    def changed(self, *names: str) -> bool:
        """Whether any of some members of the status changes."""
        return any(self.status.get(name) != self.before.get(name) for name in names)

    def turned(self, *conditions: str) -> bool:
        """Whether any of some conditions becomes true, or is true no more."""
        return any(name in self.true ^ self.was_true for name in conditions)


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


def _complete(write: _Write, out: Causes) -> None:
    for other, shown in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
        if write.turned("Complete", other) and write.true >= {"Complete", other}:
            out.append(_conditions(f"cannot set Complete=True and {shown} conditions"))
    _completion_time(write, out)
    failed = "Failed" in write.true and "FailureTarget" not in write.true
    if failed and (write.turned("Failed") or write.changed("failedIndexes")):
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        out.append(_conditions(detail))
    complete = "Complete" in write.true and "SuccessCriteriaMet" not in write.true
    if complete and write.turned("Complete", "SuccessCriteriaMet"):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        out.append(_conditions(detail))


def _completion_time(write: _Write, out: Causes) -> None:
    ended, started = write.status.get("completionTime"), write.status.get("startTime")
    complete = "Complete" in write.true
    if write.turned("Complete") or write.changed("completionTime"):
        if ended and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            out.append(invalid(_TIME, ended, detail))
        if complete and not ended:
            out.append(required(_TIME, "completionTime is required for Complete jobs"))
    if not (ended and started and write.changed("startTime", "completionTime")):
        return
    if parse_time(ended) < parse_time(started):
        out.append(invalid(_TIME, ended, "completionTime cannot be set before startTime"))


def _finished(write: _Write, out: Causes) -> None:
    if not write.finished:
        return
    status, spec = write.status, write.spec
    for name in ("active", "terminating"):
        number = status.get(name) or 0
        if number > 0 and (write.end_changed or write.changed(name)):
            detail = f"{name}>0 is invalid for finished job"
            out.append(invalid(f"status.{name}", number, detail))
    # a suspended job of no pods ends without a start
    nothing = spec.get("suspend") is True and spec.get("completions") == 0
    unstarted = not status.get("startTime") and not nothing
    if unstarted and (write.end_changed or write.changed("startTime")):
        out.append(required("status.startTime", "startTime is required for finished job"))
    pods = member(status, "uncountedTerminatedPods")
    if not pods.get("succeeded") and not pods.get("failed"):
        return
    if write.end_changed or write.changed("uncountedTerminatedPods"):
        detail = "uncountedTerminatedPods needs to be empty for finished job"
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        out.append(invalid("status.uncountedTerminatedPods", shown, detail))


# --- indexes ---


def _intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """The intervals of a list of indexes that can be read."""
    for fragment in text.split(",") if text else ():
        try:
            yield index_interval(fragment, completions)
        except ValueError:
            continue  # told when the list is read on its own


def _overlap(completed: str, failed: str, completions: int) -> str:
    """What to say of indexes in both lists, empty when none are."""
    ones, others = _intervals(completed, completions), _intervals(failed, completions)
    one, other = next(ones, None), next(others, None)
    while one and other:
        if one[0] <= other[1] and other[0] <= one[1]:
            first = max(one[0], other[0])
            return f"failedIndexes and completedIndexes overlap at index: {first}"
        if one[0] <= other[0]:
            one = next(ones, None)
        else:
            other = next(others, None)
    return ""


def _format(text: str | None, name: str, completions: int, out: Causes) -> None:
    try:
        count_indexes(text or "", completions)
    except ValueError as error:
        out.append(invalid(f"status.{name}", text, f"error parsing {name}: {error}"))


def _indexes(write: _Write, out: Causes) -> None:
    spec = write.spec
    completions, limited = spec.get("completions"), spec.get("backoffLimitPerIndex") is not None
    completed = write.status.get("completedIndexes") or ""
    failed = write.status.get("failedIndexes")
    if completions is not None:
        if write.changed("completedIndexes"):
            _format(completed, "completedIndexes", completions, out)
        if write.changed("failedIndexes") and limited and failed is not None:
            _format(failed, "failedIndexes", completions, out)
    if write.changed("completedIndexes") and completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        out.append(invalid("status.completedIndexes", completed, detail))
    if failed is None:
        return
    if write.changed("failedIndexes") and not limited:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        out.append(invalid_pointer("status.failedIndexes", failed, detail))
    if completions is None or not write.changed("completedIndexes", "failedIndexes"):
        return
    if detail := _overlap(completed, failed, completions):
        out.append(invalid_pointer("status.failedIndexes", failed, detail))


# --- success, and what may not go back ---


def _success(write: _Write, out: Causes) -> None:
    if "SuccessCriteriaMet" in write.true:
        for other, shown in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
            if other in write.true:
                detail = f"cannot set SuccessCriteriaMet=True and {shown} conditions"
                out.append(_conditions(detail))
    elif write.spec.get("successPolicy") is not None and "Complete" in write.true:
        detail = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        out.append(_conditions(detail))


def _kept(write: _Write, out: Causes) -> None:
    for name in _TERMINAL:
        if name in write.was_true - write.true:
            out.append(_conditions(f"cannot disable the terminal {name}=True condition"))
    spec, names = write.spec, ["failed"]
    elastic = spec.get("completionMode") == "Indexed"
    # an elastic job may be made smaller
    if not elastic or spec.get("completions") != spec.get("parallelism"):
        names.append("succeeded")
    for name in names:
        number = write.status.get(name) or 0
        if number < (write.before.get(name) or 0):
            out.append(invalid(f"status.{name}", number, f"cannot decrease the {name} counter"))
    ended = write.status.get("completionTime")
    if ended and write.before.get("completionTime") and write.changed("completionTime"):
        out.append(invalid(_TIME, ended, "completionTime cannot be mutated"))
    moved = write.before.get("startTime") and write.changed("startTime")
    if moved and not spec.get("suspend") and not write.resumes:
        detail = "startTime cannot be removed for unsuspended job"
        out.append(required("status.startTime", detail))
    met, was_met = ("SuccessCriteriaMet" in true for true in (write.true, write.was_true))
    if was_met and not met:
        out.append(_conditions("cannot disable the SuccessCriteriaMet=True condition"))
    if met and not was_met and "Complete" in write.was_true:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        out.append(_conditions(detail))


def update_status(new: Json, old: Json, out: Causes) -> None:
    """Check a write to ``status`` of a Job.

    Args:
        new: the Job as it would be stored.
        old: the Job as it is stored.
        out: receives causes.
    """
    write = _Write(new, old)
    counts(dict(write.status), _COUNTS, out)
    _uncounted(write.status, out)
    _complete(write, out)
    _finished(write, out)
    _indexes(write, out)
    ready, active = write.status.get("ready"), write.status.get("active") or 0
    if ready is not None and ready > active and write.changed("ready", "active"):
        out.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    _success(write, out)
    _kept(write, out)
