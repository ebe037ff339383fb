"""Paths that lead to where a pod runs: logs, streams and proxies.

Most servers have no nodes, so what answers them (`api.connecting`) is imported when it is first
asked for, in a thread.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import partial

from kubetrio.api.api import Api
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.api.verbs import Verb
from kubetrio.schema.kind import Kind

PROXIED = ("create", "delete", "get", "patch", "update", "")
"""Verbs of proxies; OPTIONS has none."""
MODULE = "kubetrio.api.proxy.connecting"


async def connect(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """Whatever a kubelet, a pod or an endpoint has to answer."""
    if MODULE not in sys.modules:
        await api.edge.env.run_blocking(importlib.import_module, MODULE)
    from kubetrio.api.proxy.connecting import CONNECTING

    return await CONNECTING[request.info.subresource](api, request, resource)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    return {("connect", verb): partial(connect, api) for verb in PROXIED}
