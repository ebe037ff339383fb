"""Fields that objects of batch can be selected by."""

from __future__ import annotations

from kubetrio.schema.fieldselectors import FieldSelectors, at

JOBS = FieldSelectors(
    getters={"status.successful": at("status.succeeded", "0")},
    refusal="field label {quoted} not supported for {kind}",
)
