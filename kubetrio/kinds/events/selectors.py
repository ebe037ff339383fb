"""Fields that objects of events.k8s.io can be selected by."""

from __future__ import annotations

from kubetrio.kinds.core.selectors import REFERENCE
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, at, below

# Events of both groups are stored with the names of core/v1.
EVENTS = FieldSelectors(
    getters={
        **below("regarding", REFERENCE, "involvedObject"),
        "reason": at("reason"),
        "reportingController": at("reportingComponent"),
        "type": at("type"),
    },
    refusal=SHORT,
)
