"""What the server writes of itself."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.machinery.status import not_found
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.lifecycle import Lifecycle
from kubetrio.resources.writes import Target, WriteOptions

Object = dict[str, Any]

SERVER = UserInfo("system:apiserver", groups=(MASTERS,))
OWN = WriteOptions(user=SERVER, field_manager="kube-apiserver", own=True)


async def apply_status(
    lifecycle: Lifecycle, target: Target, status: Object, who: WriteOptions, now: str
) -> None:
    """Apply a status as its only owner, as a controller does.

    Args:
        lifecycle: writes.
        target: the object; it exists.
        status: what is applied.
        who: the controller.
        now: wall clock as a Kubernetes time.

    Raises:
        ApiError: 404 when it is gone; the store takes no writes.
    """
    resource = target.resource
    target = target._replace(subresource="status")
    fields = FieldManager(resource, who.field_manager, now, target.subresource)
    configuration = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": target.name},
        "status": status,
    }

    async def change(stored: Object | None) -> Object:
        if stored is None:
            raise not_found(resource.group_resource, target.name)
        applied = fields.applied(stored, configuration, force=True)
        new = resource.type.restore(applied.obj, [])
        meta = {k: v for k, v in new["metadata"].items() if k != "resourceVersion"}
        return {**new, "metadata": {**meta, "managedFields": applied.entries}}

    await lifecycle.update(target, change, who)
