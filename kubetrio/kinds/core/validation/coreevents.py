"""Events of the core group, which are held to what they always were held to.

Source: the Event of the core group in the API reference.
"""

from __future__ import annotations

from kubetrio.kinds.common.checks import Causes, Json, Validation, member
from kubetrio.kinds.common.formats import QUALIFIED
from kubetrio.machinery.fielderrors import invalid, required
from kubetrio.machinery.names_validation import byte_length, dns1123_subdomain

_LIMITS = (
    ("reportingInstance", 128, True),
    ("action", 128, True),
    ("reason", 128, True),
    ("message", 1024, False),
)
"""Members with their most bytes, and whether they are required."""


def _event(event: Json, _path: str, out: Causes) -> None:
    namespace = member(event, "metadata").get("namespace") or ""
    theirs = member(event, "involvedObject").get("namespace") or ""
    if event.get("eventTime"):
        good = bool(theirs) or namespace in ("default", "kube-system")
    elif theirs:
        good = theirs == namespace
    else:
        good = namespace in ("", "default")
    if not good:
        out.append(invalid("involvedObject.namespace", theirs, "does not match event.namespace"))
    if event.get("eventTime"):
        _new_style(event, out)
    out.extend(invalid("namespace", namespace, text) for text in dns1123_subdomain(namespace))


def _new_style(event: Json, out: Causes) -> None:
    controller = event.get("reportingComponent") or ""
    if not controller:
        out.append(required("reportingComponent"))
    QUALIFIED(controller, "reportingComponent", out)
    for name, limit, needed in _LIMITS:
        value = event.get(name) or ""
        if needed and not value:
            out.append(required(name))
        if byte_length(value) > limit:
            out.append(invalid(name, "", f"can have at most {limit} characters"))


EVENTS = Validation(create=_event)
"""The rules of Events of the core group."""
