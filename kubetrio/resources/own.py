"""What the server writes of itself."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.resources.operations import Configuration, Operations
from kubetrio.resources.writes import Target, WriteOptions

Object = dict[str, Any]

SERVER = UserInfo("system:apiserver", groups=(MASTERS,))
OWN = WriteOptions(user=SERVER, field_manager="kube-apiserver", own=True)


async def apply_status(
    operations: Operations, target: Target, status: Object, who: WriteOptions
) -> None:
    """Apply a status as its only owner, as a controller does.

    Args:
        operations: writes.
        target: the object; it exists.
        status: what is applied.
        who: the controller.

    Raises:
        ApiError: 404 when it is gone; the store takes no writes.
    """
    kind = target.resource
    configuration = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": target.name},
        "status": status,
    }
    below = target._replace(subresource="status")
    await operations.apply(below, Configuration(lambda: configuration, force=True), who)
