"""Types of resource/v1beta2; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import NodeSelector
from kubetrio.types.meta.v1 import Condition, ObjectMeta, TemplateMeta

class AllocatedDeviceStatus(TypedDict):
    """What a driver reports about a device that was allocated."""

    conditions: NotRequired[list[Condition]]
    data: NotRequired[dict[str, Any]]
    device: str
    driver: str
    networkData: NotRequired[NetworkDeviceData]
    pool: str
    shareID: NotRequired[str]

class AllocationResult(TypedDict):
    """What was allocated for a claim."""

    allocationTimestamp: NotRequired[str]
    devices: NotRequired[DeviceAllocationResult]
    nodeSelector: NotRequired[NodeSelector]

class CELDeviceSelector(TypedDict):
    """Chooses devices by an expression."""

    expression: str

class CapacityRequestPolicy(TypedDict):
    """What amounts of a capacity may be asked for, where a device is shared."""

    default: NotRequired[str]
    validRange: NotRequired[CapacityRequestPolicyRange]
    validValues: NotRequired[list[str]]

class CapacityRequestPolicyRange(TypedDict):
    """A range of amounts."""

    max: NotRequired[str]
    min: str
    step: NotRequired[str]

class CapacityRequirements(TypedDict):
    """How much of a device's capacity is asked for."""

    requests: NotRequired[dict[str, str]]

class Counter(TypedDict):
    """An amount of something that devices share."""

    value: str

class CounterSet(TypedDict):
    """Amounts that devices of a pool share."""

    counters: dict[str, Counter]
    name: str

class Device(TypedDict):
    """A device that can be allocated, with what distinguishes it."""

    allNodes: NotRequired[bool]
    allowMultipleAllocations: NotRequired[bool]
    attributes: NotRequired[dict[str, DeviceAttribute]]
    bindingConditions: NotRequired[list[str]]
    bindingFailureConditions: NotRequired[list[str]]
    bindsToNode: NotRequired[bool]
    capacity: NotRequired[dict[str, DeviceCapacity]]
    consumesCounters: NotRequired[list[DeviceCounterConsumption]]
    name: str
    nodeAllocatableResourceMappings: NotRequired[dict[str, NodeAllocatableResourceMapping]]
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[NodeSelector]
    taints: NotRequired[list[DeviceTaint]]

class DeviceAllocationConfiguration(TypedDict):
    """Configuration for devices that were allocated."""

    opaque: NotRequired[OpaqueDeviceConfiguration]
    requests: NotRequired[list[str]]
    source: str

class DeviceAllocationResult(TypedDict):
    """The devices that were allocated for a claim."""

    config: NotRequired[list[DeviceAllocationConfiguration]]
    results: NotRequired[list[DeviceRequestAllocationResult]]

DeviceAttribute = TypedDict(
    "DeviceAttribute",
    {
        "bool": NotRequired[bool],
        "bools": NotRequired[list[bool]],
        "int": NotRequired[int],
        "ints": NotRequired[list[int]],
        "string": NotRequired[str],
        "strings": NotRequired[list[str]],
        "version": NotRequired[str],
        "versions": NotRequired[list[str]],
    },
)

class DeviceCapacity(TypedDict):
    """An amount that a device has."""

    requestPolicy: NotRequired[CapacityRequestPolicy]
    value: str

class DeviceClaim(TypedDict):
    """Asks for devices."""

    config: NotRequired[list[DeviceClaimConfiguration]]
    constraints: NotRequired[list[DeviceConstraint]]
    requests: NotRequired[list[DeviceRequest]]

class DeviceClaimConfiguration(TypedDict):
    """Configuration for devices of a claim."""

    opaque: NotRequired[OpaqueDeviceConfiguration]
    requests: NotRequired[list[str]]

class DeviceClass(TypedDict):
    """A kind of device, which claims ask for by name."""

    apiVersion: Literal["resource.k8s.io/v1beta2"]
    kind: Literal["DeviceClass"]
    metadata: NotRequired[ObjectMeta]
    spec: DeviceClassSpec

class DeviceClassConfiguration(TypedDict):
    """Configuration for devices of a class."""

    opaque: NotRequired[OpaqueDeviceConfiguration]

class DeviceClassSpec(TypedDict):
    """Describes a kind of device."""

    config: NotRequired[list[DeviceClassConfiguration]]
    extendedResourceName: NotRequired[str]
    selectors: NotRequired[list[DeviceSelector]]

class DeviceConstraint(TypedDict):
    """A condition on several devices together."""

    distinctAttribute: NotRequired[str]
    matchAttribute: NotRequired[str]
    requests: NotRequired[list[str]]

class DeviceCounterConsumption(TypedDict):
    """What a device takes from shared counters."""

    counterSet: str
    counters: dict[str, Counter]

class DeviceRequest(TypedDict):
    """A request for devices."""

    exactly: NotRequired[ExactDeviceRequest]
    firstAvailable: NotRequired[list[DeviceSubRequest]]
    name: str

class DeviceRequestAllocationResult(TypedDict):
    """A device that was allocated for a request."""

    adminAccess: NotRequired[bool]
    bindingConditions: NotRequired[list[str]]
    bindingFailureConditions: NotRequired[list[str]]
    consumedCapacity: NotRequired[dict[str, str]]
    device: str
    driver: str
    pool: str
    request: str
    shareID: NotRequired[str]
    tolerations: NotRequired[list[DeviceToleration]]

class DeviceSelector(TypedDict):
    """A condition on a device."""

    cel: NotRequired[CELDeviceSelector]

class DeviceSubRequest(TypedDict):
    """One of several alternatives of a request."""

    allocationMode: NotRequired[str]
    capacity: NotRequired[CapacityRequirements]
    count: NotRequired[int]
    deviceClassName: str
    name: str
    selectors: NotRequired[list[DeviceSelector]]
    tolerations: NotRequired[list[DeviceToleration]]

class DeviceTaint(TypedDict):
    """A mark on a device that claims must tolerate."""

    effect: str
    key: str
    timeAdded: NotRequired[str]
    value: NotRequired[str]

class DeviceTaintRule(TypedDict):
    """Puts a taint on devices."""

    apiVersion: Literal["resource.k8s.io/v1beta2"]
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

class DeviceToleration(TypedDict):
    """Says which taints of devices a request puts up with."""

    effect: NotRequired[str]
    key: NotRequired[str]
    operator: NotRequired[str]
    tolerationSeconds: NotRequired[int]
    value: NotRequired[str]

class ExactDeviceRequest(TypedDict):
    """What a request asks for."""

    adminAccess: NotRequired[bool]
    allocationMode: NotRequired[str]
    capacity: NotRequired[CapacityRequirements]
    count: NotRequired[int]
    deviceClassName: str
    selectors: NotRequired[list[DeviceSelector]]
    tolerations: NotRequired[list[DeviceToleration]]

class NetworkDeviceData(TypedDict):
    """Addresses of a network device."""

    hardwareAddress: NotRequired[str]
    interfaceName: NotRequired[str]
    ips: NotRequired[list[str]]

class NodeAllocatableResourceMapping(TypedDict):
    """How much of a node resource a device stands for."""

    allocationMultiplier: NotRequired[str]
    capacityKey: NotRequired[str]

class OpaqueDeviceConfiguration(TypedDict):
    """Parameters for a driver."""

    driver: str
    parameters: dict[str, Any]

class ResourceClaim(TypedDict):
    """Asks for devices, and holds those that were allocated."""

    apiVersion: Literal["resource.k8s.io/v1beta2"]
    kind: Literal["ResourceClaim"]
    metadata: NotRequired[ObjectMeta]
    spec: ResourceClaimSpec
    status: NotRequired[ResourceClaimStatus]

class ResourceClaimConsumerReference(TypedDict):
    """Somebody who may use a claim."""

    apiGroup: NotRequired[str]
    name: str
    resource: str
    uid: str

class ResourceClaimSpec(TypedDict):
    """Describes what is asked for; cannot be changed."""

    devices: NotRequired[DeviceClaim]

class ResourceClaimStatus(TypedDict):
    """What was allocated for a claim."""

    allocation: NotRequired[AllocationResult]
    devices: NotRequired[list[AllocatedDeviceStatus]]
    reservedFor: NotRequired[list[ResourceClaimConsumerReference]]

class ResourceClaimTemplate(TypedDict):
    """A description of claims to be made for pods."""

    apiVersion: Literal["resource.k8s.io/v1beta2"]
    kind: Literal["ResourceClaimTemplate"]
    metadata: NotRequired[ObjectMeta]
    spec: ResourceClaimTemplateSpec

class ResourceClaimTemplateSpec(TypedDict):
    """A description of claims to be made."""

    metadata: NotRequired[TemplateMeta]
    spec: ResourceClaimSpec

class ResourcePool(TypedDict):
    """The pool that the devices of a slice are in."""

    generation: int
    name: str
    resourceSliceCount: int

class ResourceSlice(TypedDict):
    """Some devices of a pool, published by a driver."""

    apiVersion: Literal["resource.k8s.io/v1beta2"]
    kind: Literal["ResourceSlice"]
    metadata: NotRequired[ObjectMeta]
    spec: ResourceSliceSpec

class ResourceSliceSpec(TypedDict):
    """Describes some devices of a pool."""

    allNodes: NotRequired[bool]
    devices: NotRequired[list[Device]]
    driver: str
    nodeName: NotRequired[str]
    nodeSelector: NotRequired[NodeSelector]
    perDeviceNodeSelection: NotRequired[bool]
    pool: ResourcePool
    sharedCounters: NotRequired[list[CounterSet]]
