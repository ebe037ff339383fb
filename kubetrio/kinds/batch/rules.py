"""What writes of batch do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.batch import preparation
from kubetrio.kinds.batch.defaults import label_job
from kubetrio.kinds.batch.validation import jobs
from kubetrio.kinds.common.row import Row
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "cronjobs": Row(
        validation=jobs.TABLES["cronjobs"],
        metadata=MetadataChecks(updated=(0, 1), subresources={"status": (0, 0)}),
        pod_spec="spec.jobTemplate.spec.template.spec",
    ),
    "jobs": Row(
        validation=jobs.TABLES["jobs"],
        create=preparation.create_job,
        finish=label_job,
        pod_spec="spec.template.spec",
    ),
}
"""By plural name."""
