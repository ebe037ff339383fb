"""What kinds do to an object of their own before it is validated and stored.

Defaults (``tables``) depend on the object alone; what is here depends on who asks, when, under
which identity, or on what was stored before.  Identity, generation and the separation of spec and
status are the business of the lifecycle and only completed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import orjson

from kubetrio.resources.defaults import strategy_kinds, strategy_pods, strategy_services
from kubetrio.resources.defaults.context import (
    GIVEN_METADATA,
    Context,
    Create,
    Json,
    Update,
    ignore_metadata,
    keep_metadata_of_stored,
)
from kubetrio.resources.defaults.strategy_features import drop_disabled
from kubetrio.schema.registry import ResourceType
from kubetrio.schema.structural import Report, compile_type

# Kinds that take their status from whoever creates them.
_STATUS_IS_GIVEN = frozenset({("", "nodes")})
# Kinds for which writes to the status cannot change metadata, and what undoes the change.  For
# CustomResourceDefinitions they can: kube-apiserver means to undo it, but takes what to go back to
# from the new object.
_STATUS_METADATA: Mapping[tuple[str, str], Callable[[Json, Json], None]] = {
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): keep_metadata_of_stored,
    # Only what clients set is put back; other changes are refused.
    ("apiregistration.k8s.io", "apiservices"): partial(
        keep_metadata_of_stored, names=GIVEN_METADATA
    ),
    # All is put back, so that no change is refused.
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): ignore_metadata,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): ignore_metadata,
    ("networking.k8s.io", "servicecidrs"): keep_metadata_of_stored,
    ("resource.k8s.io", "resourceclaims"): keep_metadata_of_stored,
    ("storage.k8s.io", "volumeattachments"): keep_metadata_of_stored,
}

_CREATE: Mapping[tuple[str, str], Create] = {
    **strategy_kinds.CREATE,
    ("", "pods"): strategy_pods.create,
    ("", "services"): strategy_services.create,
}
_UPDATE: Mapping[tuple[str, str], Update] = {
    **strategy_kinds.UPDATE,
    ("", "pods"): strategy_pods.update,
    ("", "services"): strategy_services.update,
}


@cache
def _zero_status(schema_name: str) -> bytes:
    """The status of a new object as JSON, or nothing for kinds without one."""
    zero = compile_type(schema_name).decode({}, Report())
    return orjson.dumps(zero["status"]) if "status" in zero else b""


def prepare_create(resource: ResourceType, obj: Json, context: Context) -> None:
    """Prepare a new object: reset its status, and what its kind does beside.

    Args:
        resource: the resource, in the version of the object.
        obj: the object with its name and defaults; changed in place.  Some defaults follow from
            what is set here, so apply defaults again afterwards.
        context: identity, time and user.
    """
    key = (resource.group, resource.resource)
    if "status" in resource.subresources and resource.schema_name and key not in _STATUS_IS_GIVEN:
        zero = _zero_status(resource.schema_name)
        if zero:
            obj["status"] = orjson.loads(zero)
        else:
            obj.pop("status", None)
    drop_disabled(key, obj, None)
    create = _CREATE.get(key)
    if create is not None:
        create(obj, context)


def prepare_update(
    resource: ResourceType, new: Json, old: Json, context: Context, subresource: str = ""
) -> None:
    """Prepare an object that replaces another.

    Args:
        resource: the resource, in the version of both objects.
        new: the object to be stored, defaults applied; changed in place.
        old: the stored object; not changed.
        context: time and user; the identity is not used.
        subresource: what is written, empty for the object itself.  ``approval``,
            ``ephemeralcontainers`` and ``resize`` are separated from the rest of the object here.
    """
    key = (resource.group, resource.resource)
    if subresource == "status" and (undo := _STATUS_METADATA.get(key)) is not None:
        undo(new, old)
    drop_disabled(key, new, old, subresource)
    update = _UPDATE.get(key)
    if update is not None:
        update(new, old, context, subresource)
