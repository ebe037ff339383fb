"""The kinds of batch: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules
from kubetrio.schema.fieldselectors import FieldSelectors, at
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.batch import defaults, preparation, printers
    from kubetrio.kinds.batch.validation import jobs as validation_jobs
else:
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    validation_jobs = lazily(f"{__package__}.validation.jobs")

KINDS: Mapping[str, BuiltinKind] = {
    "cronjobs": BuiltinKind(
        rules=WriteRules(
            validation=validation_jobs.CRONJOBS,
            metadata=MetadataChecks(updated=(0, 1), subresources={"status": (0, 0)}),
            pod_spec="spec.jobTemplate.spec.template.spec",
        ),
        defaults={"v1": defaults.CRONJOBS},
        printer=PrinterRow(printers.cron_job),
    ),
    "jobs": BuiltinKind(
        rules=WriteRules(
            validation=validation_jobs.JOBS,
            create=preparation.create_job,
            finish=defaults.label_job,
            pod_spec="spec.template.spec",
        ),
        defaults={"v1": defaults.JOBS},
        printer=PrinterRow(printers.job),
        selectors=FieldSelectors(
            getters={"status.successful": at("status.succeeded", "0")},
            refusal="field label {quoted} not supported for {kind}",
        ),
    ),
}
"""By plural name."""
