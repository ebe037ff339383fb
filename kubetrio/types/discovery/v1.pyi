"""Types of discovery/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import ObjectReference
from kubetrio.types.meta.v1 import ObjectMeta

class Endpoint(TypedDict):
    """One place behind a Service, such as a pod."""

    addresses: list[str]
    conditions: NotRequired[EndpointConditions]
    deprecatedTopology: NotRequired[dict[str, str]]
    hints: NotRequired[EndpointHints]
    hostname: NotRequired[str]
    nodeName: NotRequired[str]
    targetRef: NotRequired[ObjectReference]
    zone: NotRequired[str]

class EndpointConditions(TypedDict):
    """Whether an endpoint can serve."""

    ready: NotRequired[bool]
    serving: NotRequired[bool]
    terminating: NotRequired[bool]

class EndpointHints(TypedDict):
    """Who should prefer an endpoint."""

    forNodes: NotRequired[list[ForNode]]
    forZones: NotRequired[list[ForZone]]

class EndpointPort(TypedDict):
    """A port of the endpoints of a slice."""

    appProtocol: NotRequired[str]
    name: NotRequired[str]
    port: NotRequired[int]
    protocol: NotRequired[Literal["SCTP", "TCP", "UDP"]]

class EndpointSlice(TypedDict):
    """Some of the endpoints of a Service, all of one address family and with the same ports."""

    apiVersion: Literal["discovery.k8s.io/v1"]
    kind: Literal["EndpointSlice"]
    metadata: ObjectMeta
    addressType: Literal["FQDN", "IPv4", "IPv6"]
    endpoints: NotRequired[list[Endpoint]]
    ports: NotRequired[list[EndpointPort]]

class ForNode(TypedDict):
    """A node that should prefer an endpoint."""

    name: str

class ForZone(TypedDict):
    """A zone that should prefer an endpoint."""

    name: str
