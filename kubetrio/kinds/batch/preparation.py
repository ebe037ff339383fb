"""What writes of batch do beside what their clients say."""

from __future__ import annotations

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.schema.rules import Context, Json

_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")


_CONTROLLER = ("controller-uid", "batch.kubernetes.io/controller-uid")


def create_job(job: Json, context: Context) -> None:
    """Make a job select its pods by its own identity, unless its author does otherwise.

    A job whose labels are its template's (`defaults.label_job`) shares what is added to them.

    Source: docs "Jobs", specifying your own Pod selector.
    """
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    template = spec["template"]
    meta = template.setdefault("metadata", {})
    # a job without a name is refused later
    labels = dict.fromkeys(_JOB_NAME, job["metadata"].get("name") or "")
    labels |= dict.fromkeys(_CONTROLLER, context.uid)
    own = meta.get("labels")
    labels |= own or {}  # a value that conflicts is refused later
    meta["labels"] = {key: labels[key] for key in sorted(labels)}
    if own and job["metadata"].get("labels") is own:
        job["metadata"]["labels"] = meta["labels"]
    template["metadata"] = ordered("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", meta)
    selector = spec.get("selector") or {}
    matched = {_CONTROLLER[1]: context.uid, **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": {key: matched[key] for key in sorted(matched)}}
    job["spec"] = ordered("io.k8s.api.batch.v1.JobSpec", spec)
