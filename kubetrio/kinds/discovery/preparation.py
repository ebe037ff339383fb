"""What writes of discovery.k8s.io do beside what their clients say."""

from __future__ import annotations

from kubetrio.schema.rules import Context, Json


def create_endpoint_slice(slices: Json, _: Context) -> None:
    """The topology of an older version is read and never written."""
    for endpoint in slices.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def update_endpoint_slice(new: Json, old: Json, context: Context, _: str) -> None:
    """Old topology stays as long as the endpoints do; a node name in it is kept."""
    was = old.get("endpoints") or []
    if new.get("endpoints") == was:
        return
    nodes = {item["nodeName"] for item in was if item.get("nodeName")}
    nodes |= {_topology_node(item) for item in was}
    for endpoint in new.get("endpoints") or ():
        node = _topology_node(endpoint)
        if node and node in nodes and endpoint.get("nodeName") is None:
            endpoint["nodeName"] = node
    create_endpoint_slice(new, context)


def _topology_node(endpoint: Json) -> str:
    topology = endpoint.get("deprecatedTopology") or {}
    return str(topology.get("kubernetes.io/hostname") or "")
