"""Admission of requests that store no object of their own: of subresources that do something."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kubetrio.admission.attributes import NOTHING_SAID, Attributes, Operation
from kubetrio.api.api import Writes
from kubetrio.api.request import Request
from kubetrio.schema.kind import Kind

Object = dict[str, Any]


@asynccontextmanager
async def admitted(
    writes: Writes,
    request: Request,
    resource: Kind,
    obj: Object,
    *,
    operation: Operation = Operation.CREATE,
    name: str = "",
    dry_run: bool = False,
    options: Mapping[str, Any] = NOTHING_SAID,
) -> AsyncIterator[Object]:
    """Admit a request: the block has what mutating plugins made of the object, and checks it.

    What the block changes, validating plugins see when it ends; nothing is done before they have
    let it pass.

    Args:
        writes: has the plugins.
        request: the request.
        resource: its resource.
        obj: what plugins see of it; mutating ones may change it.
        operation: what it is to them.
        name: of the object, if the path does not say it.
        dry_run: whether nothing will come of it.
        options: members of the options, as the client gave them.

    Raises:
        ApiError: the first refusal.
    """
    info = request.info
    attributes = Attributes(
        operation=operation,
        resource=resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=name or info.name,
        user=request.user,
        obj=obj,
        old=None,
        dry_run=dry_run,
        options=options,
        warn=request.warn,
        annotations=request.annotations,
        body_annotations=request.body_annotations,
    )
    await writes.admission.mutate(attributes)
    yield attributes.obj or {}
    await writes.admission.validate(attributes)
