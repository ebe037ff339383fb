"""Verbs of subresources and resources that are more, or less, than a stored object.

Looked up in front of the general ones (`api.verbs`), by what a kind or subresource says that it
serves (`Kind.serves`, `Subresource.serves`) and by verb.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from kubetrio.api.api import Api
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.api.subresources import components, metrics, pods, reviews, scale, tokens
from kubetrio.api.verbs import Verb
from kubetrio.api.verbs import verbs_of as general_verbs_of
from kubetrio.schema.kind import Kind

PROXIED = ("create", "delete", "get", "patch", "update", "")
"""Verbs of proxies; OPTIONS has none."""
CONNECTING = "kubetrio.api.proxy.connecting"
"""Module of what leads to where a pod runs: logs, streams and proxies.

Most servers have no nodes, so it is imported when it is first asked for, in a thread.
"""


@dataclass(frozen=True, slots=True)
class Verbs:
    """What answers the requests of one server.

    Args:
        general: by verb.
        special: by what serves a kind or subresource, and verb.
    """

    general: Mapping[str, Verb]
    special: Mapping[tuple[str, str], Verb]


async def connect(api: Api, request: Request, resource: Kind) -> AnyResponse:
    """Answer what a kubelet, a pod or an endpoint has to answer.

    Args:
        api: the parts of the server; the verb gets those that it works with.
        request: the request.
        resource: Pods, Services or Nodes.
    """
    if CONNECTING not in sys.modules:
        await api.edge.env.run_blocking(importlib.import_module, CONNECTING)
    from kubetrio.api.proxy import connecting

    return await connecting.verbs_of(api)[request.info.subresource](request, resource)


def verbs_of(api: Api) -> Verbs:
    """Return the verbs of a server, bound to the parts that each works with.

    Args:
        api: the parts.
    """
    special: Mapping[tuple[str, str], Verb] = {
        **scale.verbs_of(api),
        **pods.verbs_of(api),
        **{("connect", verb): partial(connect, api) for verb in PROXIED},
        **reviews.verbs_of(api),
        **tokens.verbs_of(api),
        **components.verbs_of(api),
        **metrics.verbs_of(api),
    }
    return Verbs(general_verbs_of(api), special)
