"""Types of networking/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import TypedLocalObjectReference
from kubetrio.types.meta.v1 import Condition, LabelSelector, ObjectMeta

class HTTPIngressPath(TypedDict):
    """Sends requests for a path to a backend."""

    backend: IngressBackend
    path: NotRequired[str]
    pathType: Literal["Exact", "ImplementationSpecific", "Prefix"]

class HTTPIngressRuleValue(TypedDict):
    """Paths of a host and their backends; what matches none goes to the default backend."""

    paths: list[HTTPIngressPath]

class IPAddress(TypedDict):
    """An address that is in use, so that no other object gets it; its name is the address."""

    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["IPAddress"]
    metadata: ObjectMeta
    spec: IPAddressSpec

class IPAddressSpec(TypedDict):
    """Describes who uses an address."""

    parentRef: ParentReference

IPBlock = TypedDict(
    "IPBlock",
    {
        "cidr": str,
        "except": NotRequired[list[str]],
    },
)

class Ingress(TypedDict):
    """Lets HTTP traffic in from outside and sends it to Services by host and path."""

    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["Ingress"]
    metadata: ObjectMeta
    spec: NotRequired[IngressSpec]
    status: NotRequired[IngressStatus]

class IngressBackend(TypedDict):
    """Where requests go; one of the fields is set."""

    resource: NotRequired[TypedLocalObjectReference]
    service: NotRequired[IngressServiceBackend]

class IngressClass(TypedDict):
    """A kind of Ingress, which says what controller acts on it."""

    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["IngressClass"]
    metadata: ObjectMeta
    spec: NotRequired[IngressClassSpec]

class IngressClassParametersReference(TypedDict):
    """Points to an object with parameters for the controller."""

    apiGroup: NotRequired[str]
    kind: str
    name: str
    namespace: NotRequired[str]
    scope: NotRequired[str]

class IngressClassSpec(TypedDict):
    """Describes the controller of a class."""

    controller: NotRequired[str]
    parameters: NotRequired[IngressClassParametersReference]

class IngressLoadBalancerIngress(TypedDict):
    """Where a load balancer takes traffic."""

    hostname: NotRequired[str]
    ip: NotRequired[str]
    ports: NotRequired[list[IngressPortStatus]]

class IngressLoadBalancerStatus(TypedDict):
    """State of a load balancer."""

    ingress: NotRequired[list[IngressLoadBalancerIngress]]

class IngressPortStatus(TypedDict):
    """State of a port of a load balancer."""

    error: NotRequired[str]
    port: int
    protocol: Literal["SCTP", "TCP", "UDP"]

class IngressRule(TypedDict):
    """Sends requests for a host to backends."""

    host: NotRequired[str]
    http: NotRequired[HTTPIngressRuleValue]

class IngressServiceBackend(TypedDict):
    """A port of a Service."""

    name: str
    port: NotRequired[ServiceBackendPort]

class IngressSpec(TypedDict):
    """Describes what is let in, and where it goes."""

    defaultBackend: NotRequired[IngressBackend]
    ingressClassName: NotRequired[str]
    rules: NotRequired[list[IngressRule]]
    tls: NotRequired[list[IngressTLS]]

class IngressStatus(TypedDict):
    """What was observed of an Ingress."""

    loadBalancer: NotRequired[IngressLoadBalancerStatus]

class IngressTLS(TypedDict):
    """A certificate for some hosts."""

    hosts: NotRequired[list[str]]
    secretName: NotRequired[str]

class NetworkPolicy(TypedDict):
    """Limits traffic of pods; what no policy of a pod allows is then not let through."""

    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["NetworkPolicy"]
    metadata: ObjectMeta
    spec: NotRequired[NetworkPolicySpec]

class NetworkPolicyEgressRule(TypedDict):
    """Allows traffic from pods; both fields must match."""

    ports: NotRequired[list[NetworkPolicyPort]]
    to: NotRequired[list[NetworkPolicyPeer]]

NetworkPolicyIngressRule = TypedDict(
    "NetworkPolicyIngressRule",
    {
        "from": NotRequired[list[NetworkPolicyPeer]],
        "ports": NotRequired[list[NetworkPolicyPort]],
    },
)

class NetworkPolicyPeer(TypedDict):
    """Another side of traffic: a range of addresses, or pods."""

    ipBlock: NotRequired[IPBlock]
    namespaceSelector: NotRequired[LabelSelector]
    podSelector: NotRequired[LabelSelector]

class NetworkPolicyPort(TypedDict):
    """A port or a range of ports."""

    endPort: NotRequired[int]
    port: NotRequired[int | str]
    protocol: NotRequired[Literal["SCTP", "TCP", "UDP"]]

class NetworkPolicySpec(TypedDict):
    """Describes the pods and what traffic is allowed."""

    egress: NotRequired[list[NetworkPolicyEgressRule]]
    ingress: NotRequired[list[NetworkPolicyIngressRule]]
    podSelector: NotRequired[LabelSelector]
    policyTypes: NotRequired[list[Literal["Egress", "Ingress"]]]

class ParentReference(TypedDict):
    """The object that uses an address."""

    group: NotRequired[str]
    name: str
    namespace: NotRequired[str]
    resource: str

class ServiceBackendPort(TypedDict):
    """A port of a Service; one of the fields is set."""

    name: NotRequired[str]
    number: NotRequired[int]

class ServiceCIDR(TypedDict):
    """Ranges of addresses for Services."""

    apiVersion: Literal["networking.k8s.io/v1"]
    kind: Literal["ServiceCIDR"]
    metadata: ObjectMeta
    spec: NotRequired[ServiceCIDRSpec]
    status: NotRequired[ServiceCIDRStatus]

class ServiceCIDRSpec(TypedDict):
    """Describes ranges of addresses."""

    cidrs: NotRequired[list[str]]

class ServiceCIDRStatus(TypedDict):
    """What was observed of ranges."""

    conditions: NotRequired[list[Condition]]
