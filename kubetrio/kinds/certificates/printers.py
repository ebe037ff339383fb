"""How objects of certificates.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common.cells import (
    NONE,
    age,
    condition,
    duration,
    field,
    name,
    text,
)
from kubetrio.schema.printing import Json


def _request_condition(obj: Json) -> str:
    if condition(obj, "Denied"):
        words = ["Denied"]
    else:
        words = ["Approved" if condition(obj, "Approved") else "Pending"]
    if condition(obj, "Failed"):
        words.append("Failed")
    if field(obj, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


def certificate_signing_request(obj: Json, now: float) -> list[Any]:
    """Name, Age, SignerName, Requestor, RequestedDuration, Condition."""
    seconds = field(obj, "spec", "expirationSeconds")
    return [
        name(obj),
        age(obj, now),
        text(obj, "spec", "signerName") or NONE,
        text(obj, "spec", "username"),
        NONE if seconds is None else duration(seconds),
        _request_condition(obj),
    ]
