"""Conversion of objects between the served versions of one kind.

Two kinds of a default server have more than one: events live in two groups, and
HorizontalPodAutoscalers in two versions.  What ``autoscaling/v1`` has no field for travels in
annotations, so nothing is lost on the way there and back; CPU use comes last in the list of
metrics after it was apart from the others.

Source: the API reference of both kinds, KEP-383 (events), docs "Horizontal Pod Autoscaling".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from kubetrio.machinery.names import GroupVersion
from kubetrio.schema import builtin, convert_autoscaling
from kubetrio.schema.structural import Report, compile_type

Json = dict[str, Any]

CORE_V1 = GroupVersion("", "v1")
EVENTS_V1 = GroupVersion("events.k8s.io", "v1")
AUTOSCALING_V1 = GroupVersion("autoscaling", "v1")
AUTOSCALING_V2 = GroupVersion("autoscaling", "v2")

# Names in core/v1 and in events.k8s.io/v1; other members have the same name in both.
_EVENT_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS = dict(_EVENT_NAMES)
_TO_CORE = {new: old for old, new in _EVENT_NAMES}


def _to_events(obj: Json) -> Json:
    return {_TO_EVENTS.get(name, name): value for name, value in obj.items()}


def _to_core(obj: Json) -> Json:
    return {_TO_CORE.get(name, name): value for name, value in obj.items()}


_CONVERSIONS: Mapping[tuple[str, GroupVersion, GroupVersion], Callable[[Json], Json]] = {
    ("Event", CORE_V1, EVENTS_V1): _to_events,
    ("Event", EVENTS_V1, CORE_V1): _to_core,
    ("HorizontalPodAutoscaler", AUTOSCALING_V2, AUTOSCALING_V1): convert_autoscaling.to_v1,
    ("HorizontalPodAutoscaler", AUTOSCALING_V1, AUTOSCALING_V2): convert_autoscaling.to_v2,
}


def convert(obj: Json, from_gv: GroupVersion, to_gv: GroupVersion) -> Json:
    """An object in another version of its kind.

    Args:
        obj: an object as its type's decoder returns it; it is not changed.
        from_gv: its version.
        to_gv: the version wanted.

    Returns:
        The object itself when both versions are equal; else a new one, in Go's member order.

    Raises:
        ValueError: the kind is not served in both versions.
    """
    if from_gv == to_gv:
        return obj
    kind = obj.get("kind", "")
    conversion = _CONVERSIONS.get((kind, from_gv, to_gv))
    if conversion is None:
        raise ValueError(
            f"no conversion of {kind} from {from_gv.api_version} to {to_gv.api_version}"
        )
    changed = {**conversion(obj), "apiVersion": to_gv.api_version}
    group = "core" if not to_gv.group else to_gv.group.partition(".")[0]
    return compile_type(f"io.k8s.api.{group}.{to_gv.version}.{kind}").decode(changed, Report())


@cache
def storage_version(group: str, resource: str) -> GroupVersion:
    """The group and version in which objects of a built-in resource are stored.

    Args:
        group: API group, empty for core.
        resource: plural name.

    Raises:
        KeyError: no such resource.
    """
    registry = builtin.registry()
    for version in registry.groups.get(group, ()):
        found = registry.get(group, version, resource)
        if found is not None:
            return found.stored_as
    raise KeyError((group, resource))
