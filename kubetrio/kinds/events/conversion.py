"""Events between core/v1, in which they are stored, and events.k8s.io/v1 (KEP-383)."""

from __future__ import annotations

from kubetrio.kinds.common.versions import converting
from kubetrio.schema.kind import Conversion
from kubetrio.schema.rules import Json

# Names in core/v1 and in events.k8s.io/v1; other members have the same name in both.
_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS = dict(_NAMES)
_TO_CORE = {new: old for old, new in _NAMES}


def _to_events(obj: Json) -> Json:
    return {_TO_EVENTS.get(name, name): value for name, value in obj.items()}


def _to_core(obj: Json) -> Json:
    return {_TO_CORE.get(name, name): value for name, value in obj.items()}


EVENTS_V1 = Conversion(
    to_stored=converting(_to_core, "v1", "io.k8s.api.core.v1.Event"),
    from_stored=converting(_to_events, "events.k8s.io/v1", "io.k8s.api.events.v1.Event"),
)
