"""The batch group: Jobs and CronJobs.

Source: "Jobs" and "CronJob" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kubetrio.kinds.apps.validation import selected_template, selector_of
from kubetrio.kinds.batch.validation.cron import schedule_problem, zone_problem
from kubetrio.kinds.batch.validation.jobspec import (
    job_spec,
    printed_failure,
    printed_success,
)
from kubetrio.kinds.batch.validation.jobstatus import update_status
from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Json,
    Validation,
    member,
    not_negative,
    same,
)
from kubetrio.kinds.common.selectors import label_selector, printed
from kubetrio.kinds.core.validation.podwarnings import (
    hostname_warnings,
    same_generation,
    template_warnings,
)
from kubetrio.machinery.fielderrors import (
    Named,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import byte_length, dns1123_label

_MAX_CRON_JOB_NAME = 52
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_MANY_COMPLETIONS = 100_000
_MANY_PODS = 10_000
_FIXED = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_PRINTED: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"podFailurePolicy": printed_failure, "successPolicy": printed_success}
)
"""How members are printed that Go prints in its own words."""
_GATED = ("nodeSelector", "tolerations", "schedulingGates")


# --- jobs ---


def _generated_selector(job: Json, spec: Mapping[str, Any], out: Causes) -> None:
    """The selector and labels that the server makes must be those that it made."""
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    metadata = member(job, "metadata")
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    if not uid:
        out.append(required("metadata.uid"))
    labels = member(member(member(spec, "template"), "metadata"), "labels")
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    for key, value in expected.items():
        where = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            out.append(required(where, f"must be '{value}'"))
        elif labels[key] != value:
            out.append(invalid(where, dict(sorted(labels.items())), f"must be '{value}'"))
    selector = selector_of(spec)
    if selector is not None and not selector.matches(expected):
        shown = printed(spec["selector"])
        out.append(invalid("spec.selector", shown, "`selector` not auto-generated"))


def _job_spec(spec: Mapping[str, Any], out: Causes) -> None:
    job_spec(spec, "spec", out)
    if spec.get("selector") is None:
        out.append(required("spec.selector"))
    else:
        label_selector(spec["selector"], "spec.selector", out)
    selector = selector_of(spec)
    if selector is not None:
        selected_template(spec, selector, out)


def _job(job: Json, _path: str, out: Causes) -> None:
    spec = member(job, "spec")
    _generated_selector(job, spec, out)
    _job_spec(spec, out)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        name = member(job, "metadata").get("name") or ""
        host = f"{name}-{completions - 1}"
        if dns1123_label(host):
            detail = f"will not able to create pod with invalid DNS label: {host}"
            out.append(invalid("metadata.name", name, detail))


def _may_reschedule(old: Json) -> bool:
    """Whether a suspended job has no pods that would have to follow a change."""
    if not member(old, "spec").get("suspend"):
        return False
    status = member(old, "status")
    stopped = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )
    return not status.get("startTime") or (stopped and not status.get("active"))


def _unscheduled(template: Mapping[str, Any]) -> Json:
    """The spec of a template without what may change while its job is suspended."""
    spec = {name: value for name, value in member(template, "spec").items() if name not in _GATED}
    affinity = {
        name: value
        for name, value in (spec.pop("affinity", None) or {}).items()
        if name != "nodeAffinity"
    }
    if affinity:
        spec["affinity"] = affinity
    for name in ("containers", "initContainers"):
        if spec.get(name):
            spec[name] = [{**item, "resources": None} for item in spec[name]]
    return spec


def _template(new: Json, old: Json, out: Causes) -> None:
    mine = member(member(new, "spec"), "template")
    theirs = member(member(old, "spec"), "template")
    if _may_reschedule(old):
        # only the pods' spec is compared then
        if not same(_unscheduled(mine), _unscheduled(theirs)):
            out.append(invalid("spec.template.spec", mine.get("spec"), IMMUTABLE))
    elif any(not same(mine.get(name), theirs.get(name)) for name in ("metadata", "spec")):
        out.append(invalid("spec.template", dict(mine), IMMUTABLE))


def _completions(mine: Mapping[str, Any], theirs: Mapping[str, Any], out: Causes) -> None:
    number = mine.get("completions")
    if number == theirs.get("completions"):
        return
    if mine.get("completionMode") != "Indexed":
        out.append(invalid("spec.completions", number, IMMUTABLE))
    elif number is not None and number != mine.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        out.append(invalid("spec.completions", number, detail))


def _job_update(new: Json, old: Json, out: Causes) -> None:
    mine, theirs = member(new, "spec"), member(old, "spec")
    _job_spec(mine, out)
    _completions(mine, theirs, out)
    if not same(mine.get("selector"), theirs.get("selector")):
        shown = printed(mine["selector"]) if mine.get("selector") else None
        out.append(invalid("spec.selector", shown, IMMUTABLE))
    _template(new, old, out)
    for name in _FIXED:
        if mine.get(name) != theirs.get(name):
            shown = _PRINTED.get(name, lambda value: value)(mine.get(name))
            out.append(invalid(f"spec.{name}", shown, IMMUTABLE))


def _job_spec_warnings(spec: Mapping[str, Any], path: str) -> list[str]:
    warnings = []
    if (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY_COMPLETIONS
        and (spec.get("parallelism") or 0) > _MANY_PODS
    ):
        warnings.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track "
            "completedIndexes when a big number of indexes fail"
        )
    return warnings + template_warnings(member(spec, "template"), f"{path}.template")


def _job_warnings(new: Json, old: Json | None) -> list[str]:
    if same_generation(new, old):
        return []
    names = hostname_warnings(new, owner=True) if old is None else []
    return names + _job_spec_warnings(member(new, "spec"), "spec")


# --- cron jobs ---


def _schedule(text: str, old: str, zone: str | None, out: Causes) -> None:
    path = "spec.schedule"
    if not text:
        out.append(required(path))
        return
    if problem := schedule_problem(text):
        out.append(invalid(path, text, problem))
    if "TZ" not in text:
        return
    if "TZ" not in old:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        out.append(invalid(path, text, detail))
    elif zone is not None:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        out.append(invalid(path, text, detail))


def _time_zone(zone: str | None, out: Causes) -> None:
    path = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        out.append(invalid(path, Named(zone), "timeZone must be nil or non-empty string"))
        return
    if zone.lower() == "local":
        detail = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        out.append(invalid(path, Named(zone), detail))
    if problem := zone_problem(zone):
        out.append(invalid(path, Named(zone), problem))


def _cron_job_spec(spec: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
    zone = spec.get("timeZone")
    _schedule(spec.get("schedule") or "", old.get("schedule") or "", zone, out)
    not_negative(spec.get("startingDeadlineSeconds") or 0, "spec.startingDeadlineSeconds", out)
    if zone != old.get("timeZone"):
        _time_zone(zone, out)
    policy = spec.get("concurrencyPolicy") or ""
    if policy not in _CONCURRENCY:
        where = "spec.concurrencyPolicy"
        out.append(not_supported(where, policy, _CONCURRENCY) if policy else required(where))
    _job_template(member(spec, "jobTemplate"), "spec.jobTemplate", out)
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        not_negative(spec.get(name) or 0, f"spec.{name}", out)


def _job_template(template: Mapping[str, Any], path: str, out: Causes) -> None:
    spec = member(template, "spec")
    job_spec(spec, f"{path}.spec", out)
    if spec.get("selector") is not None:
        shown = printed(spec["selector"])
        detail = "`selector` will be auto-generated"
        out.append(invalid(f"{path}.spec.selector", shown, detail))
    if spec.get("manualSelector"):
        out.append(not_supported(f"{path}.spec.manualSelector", True, ("nil", "false")))


def _cron_job(obj: Json, _path: str, out: Causes) -> None:
    _cron_job_spec(member(obj, "spec"), {}, out)
    name = member(obj, "metadata").get("name") or ""
    if byte_length(name) > _MAX_CRON_JOB_NAME:
        detail = f"must be no more than {_MAX_CRON_JOB_NAME} characters"
        out.append(invalid("metadata.name", name, detail))


def _cron_job_update(new: Json, old: Json, out: Causes) -> None:
    _cron_job_spec(member(new, "spec"), member(old, "spec"), out)


def _cron_job_warnings(new: Json, old: Json | None) -> list[str]:
    spec = member(new, "spec")
    warnings = hostname_warnings(new, owner=True) if old is None else []
    if not same_generation(new, old):
        job = member(member(spec, "jobTemplate"), "spec")
        warnings += _job_spec_warnings(job, "spec.jobTemplate.spec")
    if old is not None and "TZ" in (spec.get("schedule") or ""):
        warnings.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return warnings


JOBS = Validation(
    create=_job,
    update=_job_update,
    subresources={"status": update_status},
    warnings=_job_warnings,
)
CRONJOBS = Validation(
    create=_cron_job,
    update=_cron_job_update,
    revalidate=False,
    warnings=_cron_job_warnings,
)
