"""Events of events.k8s.io, which are checked more strictly than those of the core group.

Source: KEP-383 (new event API); causes name the members as the core group calls them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Json,
    Validation,
    go_struct,
    member,
    same,
)
from kubetrio.machinery.fielderrors import invalid, required
from kubetrio.machinery.names_validation import byte_length, dns1123_subdomain, qualified_name

_LIMIT = 128
_NOTE_LIMIT = 1024
_NAMESPACE_DIFFERS = "does not match event.namespace"
_UNSET = (
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)
_REFERENCE = go_struct(
    Kind=("kind", ""),
    Namespace=("namespace", ""),
    Name=("name", ""),
    UID=("uid", ""),
    APIVersion=("apiVersion", ""),
    ResourceVersion=("resourceVersion", ""),
    FieldPath=("fieldPath", ""),
)
_SOURCE = go_struct(Component=("component", ""), Host=("host", ""))
# member, its name in causes, its zero value; the reason is compared twice, as upstream does
_FIXED: tuple[tuple[str, str, Any], ...] = (
    ("regarding", "involvedObject", {}),
    ("reason", "reason", ""),
    ("note", "message", ""),
    ("deprecatedSource", "source", {}),
    ("deprecatedFirstTimestamp", "firstTimestamp", None),
    ("deprecatedLastTimestamp", "lastTimestamp", None),
    ("deprecatedCount", "count", 0),
    ("reason", "reason", ""),
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingController", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)


def _too_long(event: Mapping[str, Any], name: str, path: str, limit: int, out: Causes) -> None:
    if byte_length(event.get(name) or "") > limit:
        out.append(invalid(path, "", f"can have at most {limit} characters"))


def _about(event: Mapping[str, Any], out: Causes) -> None:
    namespace = event["metadata"].get("namespace") or ""
    regarding = member(event, "regarding").get("namespace") or ""
    if event.get("eventTime"):
        good = regarding or namespace in ("default", "kube-system")
    elif not regarding:
        good = namespace in ("", "default")
    else:
        good = namespace == regarding
    if not good:
        out.append(invalid("involvedObject.namespace", regarding, _NAMESPACE_DIFFERS))


def _named(event: Mapping[str, Any], out: Causes) -> None:
    controller = event.get("reportingController") or ""
    if not controller:
        out.append(required("reportingController"))
    out.extend(
        invalid("reportingController", controller, text) for text in qualified_name(controller)
    )
    for name in ("reportingInstance", "action", "reason"):
        if not event.get(name):
            out.append(required(name))
        _too_long(event, name, name, _LIMIT, out)
    _too_long(event, "note", "message", _NOTE_LIMIT, out)


def _legacy(event: Mapping[str, Any], out: Causes) -> None:
    _about(event, out)
    if event.get("eventTime"):
        _named(event, out)
    namespace = event["metadata"].get("namespace") or ""
    out.extend(invalid("namespace", namespace, text) for text in dns1123_subdomain(namespace))


def _series(event: Mapping[str, Any], out: Causes) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        out.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        out.append(required("series.lastObservedTime"))


def _create(event: Mapping[str, Any], _: str, out: Causes) -> None:
    _legacy(event, out)
    _series(event, out)
    if not event.get("eventTime"):
        out.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        out.append(invalid("type", "", f"has invalid value: {kind}"))
    for name, path in _UNSET:
        if event.get(name):
            out.append(invalid(path, "", "needs to be unset"))
    source = member(event, "deprecatedSource")
    if source.get("component") or source.get("host"):
        out.append(invalid("source", "", "needs to be unset"))


def _shown(name: str, value: Any) -> Any:
    if name in ("regarding", "related"):
        return value if value is None else _REFERENCE(value)
    return _SOURCE(value) if name == "deprecatedSource" else value


def _update(new: Json, old: Json, out: Causes) -> None:
    _legacy(new, out)
    if not same(new.get("series"), old.get("series")):
        _series(new, out)
    for name, path, zero in _FIXED:
        value, before = (zero if obj.get(name) is None else obj[name] for obj in (new, old))
        if not same(value, before):
            out.append(invalid(path, _shown(name, value), IMMUTABLE))


EVENTS = Validation(create=_create, update=_update, revalidate=False)
