"""batch/v1."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, each, within
from kubetrio.kinds.core.defaults.pods import TEMPLATE

UNLIMITED = 2**31 - 1


def default_counts(spec: Json) -> None:
    """How many pods, how many failures, which pods are replaced: each depends on others."""
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else UNLIMITED
    if spec.get("podReplacementPolicy") is None:
        policy = spec.get("podFailurePolicy")
        spec["podReplacementPolicy"] = "TerminatingOrFailed" if policy is None else "Failed"


def label_job(job: Json) -> None:
    """Give a job without labels those of its pods.

    Both are one map from then on, as in kube-apiserver: labels that the job's preparation adds to
    its pods are labels of the job too.
    """
    template = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    meta = job.get("metadata")
    if labels and meta is not None and not meta.get("labels"):
        meta["labels"] = labels


_PARTS = (
    within("template", *TEMPLATE),
    each("podFailurePolicy.rules", each("onPodConditions", Default("status", "True"))),
)

JOBS: Rules = (
    Call(label_job, grows=("metadata",)),
    within(
        "spec",
        Default("completionMode", "NonIndexed"),
        Default("suspend", False),
        Default("manualSelector", False),
        Call(default_counts),
        *_PARTS,
    ),
)
CRONJOBS: Rules = (
    within(
        "spec",
        Default("concurrencyPolicy", "Allow"),
        Default("suspend", False),
        Default("successfulJobsHistoryLimit", 3),
        Default("failedJobsHistoryLimit", 1),
        within("jobTemplate.spec", *_PARTS),
    ),
)
