"""Types of events/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import EventSource, ObjectReference
from kubetrio.types.meta.v1 import ObjectMeta

class Event(TypedDict):
    """Something that happened to an object; kept for a limited time and without guarantees."""

    apiVersion: Literal["events.k8s.io/v1"]
    kind: Literal["Event"]
    metadata: ObjectMeta
    action: NotRequired[str]
    deprecatedCount: NotRequired[int]
    deprecatedFirstTimestamp: NotRequired[str]
    deprecatedLastTimestamp: NotRequired[str]
    deprecatedSource: NotRequired[EventSource]
    eventTime: str
    note: NotRequired[str]
    reason: NotRequired[str]
    regarding: NotRequired[ObjectReference]
    related: NotRequired[ObjectReference]
    reportingController: NotRequired[str]
    reportingInstance: NotRequired[str]
    series: NotRequired[EventSeries]
    type: NotRequired[str]

class EventSeries(TypedDict):
    """Counts how often an event was repeated."""

    count: int
    lastObservedTime: str
