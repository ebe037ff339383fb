"""What controllers keep of a node."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory

Object = dict[str, Any]

PREFIX = "/registry/minions/"
ZONE = "topology.kubernetes.io/zone"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class NodeDigest(NamedTuple):
    """What is kept of a node.

    Args:
        zone: in which it is, empty if it does not say.
        ready: whether its ``Ready`` condition is true.
        out_of_service: whether a taint says that it does not come back.
    """

    zone: str
    ready: bool
    out_of_service: bool


def node_digest(value: bytes) -> NodeDigest:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return NodeDigest(
        zone=(node["metadata"].get("labels") or {}).get(ZONE) or "",
        ready=any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in status.get("conditions") or ()
        ),
        out_of_service=any(one.get("key") == OUT_OF_SERVICE for one in spec.get("taints") or ()),
    )


Nodes = Digests[NodeDigest]


def nodes_of(informers: SharedInformerFactory) -> Nodes:
    """The nodes of a server; the same for all controllers."""
    return informers.digests(PREFIX, node_digest)
