"""What writes of certificates.k8s.io do beside what their clients say."""

from __future__ import annotations

from collections.abc import Sequence

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.common.metadata import copy_member
from kubetrio.schema.rules import Context, Json

_REQUEST = "io.k8s.api.certificates.v1.CertificateSigningRequest"


def create_signing_request(request: Json, context: Context) -> None:
    """Who asks is who is asked for."""
    user = context.user
    spec = {key: value for key, value in request["spec"].items() if key not in _REQUESTOR}
    told = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(user.extra[key]) for key in sorted(user.extra)},
    }
    spec.update((key, value) for key, value in told.items() if value)
    request["spec"] = ordered(f"{_REQUEST}Spec", spec)


_REQUESTOR = ("username", "uid", "groups", "extra")


def _with_decisions(conditions: Sequence[Json], before: Sequence[Json]) -> list[Json]:
    """Conditions with decisions as they were, unless there are more or fewer of them now."""
    result = list(conditions)
    for kind in ("Approved", "Denied"):
        decided = [item for item in before if item.get("type") == kind]
        places = [at for at, item in enumerate(result) if item.get("type") == kind]
        if len(decided) == len(places):
            for at, item in zip(places, decided, strict=True):
                result[at] = item
    return result


def update_signing_request(new: Json, old: Json, context: Context, subresource: str) -> None:
    """The spec never changes; approval writes conditions, and times of conditions are noted."""
    new["spec"] = old["spec"]
    status, was = new.get("status") or {}, old.get("status") or {}
    if not subresource:
        copy_member(new, old, "status")
        return
    if subresource == "approval":
        status = {**was, "conditions": status.get("conditions")}
    else:
        conditions = _with_decisions(status.get("conditions") or (), was.get("conditions") or ())
        status = {**status, "conditions": conditions}
    since = {
        (item.get("type"), item.get("status")): item.get("lastTransitionTime")
        for item in was.get("conditions") or ()
    }
    conditions = [
        {
            **item,
            "lastUpdateTime": item.get("lastUpdateTime") or context.now,
            "lastTransitionTime": item.get("lastTransitionTime")
            or since.get((item.get("type"), item.get("status")))
            or context.now,
        }
        for item in status.get("conditions") or ()
    ]
    status = {**status, "conditions": conditions}
    if not conditions:
        del status["conditions"]
    new["status"] = ordered(f"{_REQUEST}Status", status)
