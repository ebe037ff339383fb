"""Fields that objects of batch can be selected by."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.schema.fieldselectors import FieldSelectors, at

SELECTORS: Mapping[str, FieldSelectors] = {
    "jobs": FieldSelectors(
        getters={"status.successful": at("status.succeeded", "0")},
        refusal="field label {quoted} not supported for {kind}",
    ),
}
"""By plural name."""
