"""Events, of the core group as it always was and of events.k8s.io, which is strict.

Source: the Event of both groups in the API reference.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from kubetrio.machinery.fielderrors import invalid, required
from kubetrio.machinery.names_validation import byte_length, dns1123_subdomain
from kubetrio.resources.validation.formats import QUALIFIED
from kubetrio.resources.validation.library import (
    IMMUTABLE,
    Causes,
    Json,
    KindRules,
    Tables,
    member,
    same,
)

_NEEDS_UNSET = "needs to be unset"
_TYPES = ("Normal", "Warning")
_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""What core calls the members of events.k8s.io."""
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)
_LIMITS = (
    ("reportingInstance", "reportingInstance", 128, True),
    ("action", "action", 128, True),
    ("reason", "reason", 128, True),
    ("message", "message", 1024, False),
)
"""Members with their names in causes, most bytes, and whether they are required."""


def as_core(event: Json) -> Json:
    """An event of events.k8s.io in the words of core.

    Args:
        event: the event.
    """
    out = dict(event)
    for core, name in _NAMES.items():
        value = out.pop(name, None)
        if value is not None:
            out[core] = value
    return out


def _legacy(event: Json, _path: str, out: Causes) -> None:
    """What every event must be, whoever writes it."""
    namespace = member(event, "metadata").get("namespace") or ""
    theirs = member(event, "involvedObject").get("namespace") or ""
    mismatch = invalid("involvedObject.namespace", theirs, "does not match event.namespace")
    if not event.get("eventTime"):
        if theirs != namespace and (theirs or namespace not in ("", "default")):
            out.append(mismatch)
    else:
        if not theirs and namespace not in ("default", "kube-system"):
            out.append(mismatch)
        _new_style(event, out)
    out.extend(invalid("namespace", namespace, text) for text in dns1123_subdomain(namespace))


def _new_style(event: Json, out: Causes) -> None:
    controller = event.get("reportingComponent") or ""
    if not controller:
        out.append(required("reportingController"))
    QUALIFIED(controller, "reportingController", out)
    for name, path, limit, needed in _LIMITS:
        value = event.get(name) or ""
        if needed and not value:
            out.append(required(path))
        if byte_length(value) > limit:
            out.append(invalid(path, "", f"can have at most {limit} characters"))


def _series(event: Json, out: Causes) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        out.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        out.append(required("series.lastObservedTime"))


def _strict(event: Json, path: str, out: Causes) -> None:
    """What an event written through events.k8s.io must be."""
    event = as_core(event)
    _legacy(event, path, out)
    _series(event, out)
    if not event.get("eventTime"):
        out.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in _TYPES:
        out.append(invalid("type", "", f"has invalid value: {kind}"))
    source = member(event, "source")
    for name, given in (
        ("firstTimestamp", event.get("firstTimestamp")),
        ("lastTimestamp", event.get("lastTimestamp")),
        ("count", event.get("count")),
        ("source", source.get("component") or source.get("host")),
    ):
        if given:
            out.append(invalid(name, "", _NEEDS_UNSET))


def _strict_update(new: Json, old: Json, out: Causes) -> None:
    new, old = as_core(new), as_core(old)
    _legacy(new, "", out)
    if new.get("series") != old.get("series"):
        _series(new, out)
    for name in _FIXED:
        member_name = "reportingComponent" if name == "reportingController" else name
        mine, theirs = new.get(member_name), old.get(member_name)
        if not _same(mine, theirs):
            out.append(invalid(name, mine, IMMUTABLE))


def _same(one: Any, two: Any) -> bool:
    return same(one or None, two or None)


EVENTS = KindRules(create=_legacy)
"""The rules of Events of the core group."""

TABLES: Tables = MappingProxyType(
    {
        ("events.k8s.io", "events"): KindRules(
            create=_strict, update=_strict_update, revalidate=False
        ),
    }
)
"""Rules by (group, plural name)."""
