"""resource.k8s.io/v1: claims on devices."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Call, Default, Json, Rules, each, within

_TOLERATIONS = each("tolerations", Default("operator", "Equal"))


def default_count(request: Json) -> None:
    """One device, where a count is asked for."""
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


_REQUEST: Rules = (Default("allocationMode", "ExactCount"), Call(default_count), _TOLERATIONS)
_CLAIM: Rules = (
    each("devices.requests", within("exactly", *_REQUEST), each("firstAvailable", *_REQUEST)),
)

RESOURCECLAIMS: Rules = (
    within("spec", *_CLAIM),
    each("status.allocation.devices.results", _TOLERATIONS),
)
RESOURCECLAIMTEMPLATES: Rules = (within("spec.spec", *_CLAIM),)
