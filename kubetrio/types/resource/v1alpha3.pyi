"""Types of resource/v1alpha3; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, ObjectMeta

class DeviceTaint(TypedDict):
    """A mark on a device that claims must tolerate."""

    effect: str
    key: str
    timeAdded: NotRequired[str]
    value: NotRequired[str]

class DeviceTaintRule(TypedDict):
    """Puts a taint on devices."""

    apiVersion: Literal["resource.k8s.io/v1alpha3"]
    kind: Literal["DeviceTaintRule"]
    metadata: NotRequired[ObjectMeta]
    spec: DeviceTaintRuleSpec
    status: NotRequired[DeviceTaintRuleStatus]

class DeviceTaintRuleSpec(TypedDict):
    """Describes a taint and the devices that get it."""

    deviceSelector: NotRequired[DeviceTaintSelector]
    taint: DeviceTaint

class DeviceTaintRuleStatus(TypedDict):
    """What was observed of a rule."""

    conditions: NotRequired[list[Condition]]

class DeviceTaintSelector(TypedDict):
    """Chooses devices; all fields that are set must match."""

    device: NotRequired[str]
    driver: NotRequired[str]
    pool: NotRequired[str]

class PoolStatus(TypedDict):
    """How much of a pool of devices is in use."""

    allocatedDevices: NotRequired[int]
    availableDevices: NotRequired[int]
    driver: str
    generation: int
    nodeName: NotRequired[str]
    poolName: str
    resourceSliceCount: NotRequired[int]
    totalDevices: NotRequired[int]
    unavailableDevices: NotRequired[int]
    validationError: NotRequired[str]

class ResourcePoolStatusRequest(TypedDict):
    """Asks how much of some pools of devices is in use."""

    apiVersion: Literal["resource.k8s.io/v1alpha3"]
    kind: Literal["ResourcePoolStatusRequest"]
    metadata: ObjectMeta
    spec: ResourcePoolStatusRequestSpec
    status: NotRequired[ResourcePoolStatusRequestStatus]

class ResourcePoolStatusRequestSpec(TypedDict):
    """Describes which pools."""

    driver: str
    limit: NotRequired[int]
    poolName: NotRequired[str]

class ResourcePoolStatusRequestStatus(TypedDict):
    """How much of some pools is in use."""

    conditions: NotRequired[list[Condition]]
    poolCount: int
    pools: NotRequired[list[PoolStatus]]
