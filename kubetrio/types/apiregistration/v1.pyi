"""Types of apiregistration/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class APIService(TypedDict):
    """Registers a group and version of the API, and says which server answers it."""

    apiVersion: Literal["apiregistration.k8s.io/v1"]
    kind: Literal["APIService"]
    metadata: ObjectMeta
    spec: APIServiceSpec
    status: NotRequired[APIServiceStatus]

class APIServiceCondition(TypedDict):
    """One aspect of an APIService's state; Available says whether requests can be passed on."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class APIServiceSpec(TypedDict):
    """Describes a group and version and the server behind it."""

    caBundle: NotRequired[str]
    group: NotRequired[str]
    groupPriorityMinimum: int
    insecureSkipTLSVerify: NotRequired[bool]
    service: NotRequired[ServiceReference]
    version: NotRequired[str]
    versionPriority: int

class APIServiceStatus(TypedDict):
    """What was observed of the server behind an APIService."""

    conditions: NotRequired[list[APIServiceCondition]]

class ServiceReference(TypedDict):
    """Points to a Service and its port."""

    name: NotRequired[str]
    namespace: NotRequired[str]
    port: NotRequired[int]
