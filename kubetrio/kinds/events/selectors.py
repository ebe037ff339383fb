"""Fields that objects of events.k8s.io can be selected by."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.core.selectors import REFERENCE
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, at, below

SELECTORS: Mapping[str, FieldSelectors] = {
    # Events of both groups are stored with the names of core/v1.
    "events": FieldSelectors(
        getters={
            **below("regarding", REFERENCE, "involvedObject"),
            "reason": at("reason"),
            "reportingController": at("reportingComponent"),
            "type": at("type"),
        },
        refusal=SHORT,
    ),
}
"""By plural name."""
