"""Types of networking/v1beta1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, ObjectMeta

class IPAddress(TypedDict):
    """An address that is in use, so that no other object gets it; its name is the address."""

    apiVersion: Literal["networking.k8s.io/v1beta1"]
    kind: Literal["IPAddress"]
    metadata: NotRequired[ObjectMeta]
    spec: IPAddressSpec

class IPAddressSpec(TypedDict):
    """Describes who uses an address."""

    parentRef: ParentReference

class ParentReference(TypedDict):
    """The object that uses an address."""

    group: NotRequired[str]
    name: str
    namespace: NotRequired[str]
    resource: str

class ServiceCIDR(TypedDict):
    """Ranges of addresses for Services."""

    apiVersion: Literal["networking.k8s.io/v1beta1"]
    kind: Literal["ServiceCIDR"]
    metadata: NotRequired[ObjectMeta]
    spec: NotRequired[ServiceCIDRSpec]
    status: NotRequired[ServiceCIDRStatus]

class ServiceCIDRSpec(TypedDict):
    """Describes ranges of addresses."""

    cidrs: NotRequired[list[str]]

class ServiceCIDRStatus(TypedDict):
    """What was observed of ranges."""

    conditions: NotRequired[list[Condition]]
