"""Admission of requests that store no object of their own: of subresources that do something."""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.api.api import Api
from kubetrio.api.request import Request
from kubetrio.schema.kind import Kind


async def admit(
    api: Api,
    request: Request,
    resource: Kind,
    obj: dict[str, Any],
    *,
    operation: Operation = Operation.CREATE,
    name: str = "",
    dry_run: bool = False,
) -> None:
    """Ask admission about a request.

    Args:
        api: the server.
        request: the request.
        resource: its resource.
        obj: what plugins see of it; mutating ones may change it.
        operation: what it is to them.
        name: of the object, if the path does not say it.
        dry_run: whether nothing will come of it.

    Raises:
        ApiError: the first refusal.
    """
    info = request.info
    await api.lifecycle.admit(
        Attributes(
            operation=operation,
            resource=resource,
            subresource=info.subresource,
            namespace=info.namespace,
            name=name or info.name,
            user=request.user,
            obj=obj,
            old=None,
            dry_run=dry_run,
            warn=request.warn,
            annotations=request.annotations,
        )
    )
