"""Types of meta/v1; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

class APIGroup(TypedDict):
    """Name and versions of one API group."""

    apiVersion: NotRequired[str]
    kind: NotRequired[str]
    name: str
    preferredVersion: NotRequired[GroupVersionForDiscovery]
    serverAddressByClientCIDRs: NotRequired[list[ServerAddressByClientCIDR]]
    versions: list[GroupVersionForDiscovery]

class APIResource(TypedDict):
    """A resource that can be used, as discovery tells it."""

    categories: NotRequired[list[str]]
    group: NotRequired[str]
    kind: str
    name: str
    namespaced: bool
    shortNames: NotRequired[list[str]]
    singularName: str
    storageVersionHash: NotRequired[str]
    verbs: list[str]
    version: NotRequired[str]

class APIVersions(TypedDict):
    """The versions of the core group, as found at /api."""

    apiVersion: NotRequired[str]
    kind: NotRequired[str]
    serverAddressByClientCIDRs: list[ServerAddressByClientCIDR]
    versions: list[str]

class Condition(TypedDict):
    """One aspect of the observed state of an object."""

    lastTransitionTime: str
    message: str
    observedGeneration: NotRequired[int]
    reason: str
    status: str
    type: str

class DeleteOptions(TypedDict):
    """How an object is to be deleted."""

    apiVersion: NotRequired[str]
    dryRun: NotRequired[list[str]]
    gracePeriodSeconds: NotRequired[int]
    ignoreStoreReadErrorWithClusterBreakingPotential: NotRequired[bool]
    kind: NotRequired[str]
    orphanDependents: NotRequired[bool]
    preconditions: NotRequired[Preconditions]
    propagationPolicy: NotRequired[str]

class FieldSelectorRequirement(TypedDict):
    """A condition on the value of one field."""

    key: str
    operator: str
    values: NotRequired[list[str]]

class GroupResource(TypedDict):
    """Name of a resource together with its group, in any version."""

    group: str
    resource: str

class GroupVersionForDiscovery(TypedDict):
    """A version of a group, in both of its spellings."""

    groupVersion: str
    version: str

class LabelSelector(TypedDict):
    """Chooses objects by labels; all of its parts must match."""

    matchExpressions: NotRequired[list[LabelSelectorRequirement]]
    matchLabels: NotRequired[dict[str, str]]

class LabelSelectorRequirement(TypedDict):
    """A condition on the value of one label."""

    key: str
    operator: str
    values: NotRequired[list[str]]

ListMeta = TypedDict(
    "ListMeta",
    {
        "continue": NotRequired[str],
        "remainingItemCount": NotRequired[int],
        "resourceVersion": NotRequired[str],
        "selfLink": NotRequired[str],
        "shardInfo": NotRequired[ShardInfo],
    },
)

class ManagedFieldsEntry(TypedDict):
    """The fields that one manager owns, and how it came to own them."""

    apiVersion: NotRequired[str]
    fieldsType: NotRequired[str]
    fieldsV1: NotRequired[dict[str, Any]]
    manager: NotRequired[str]
    operation: NotRequired[str]
    subresource: NotRequired[str]
    time: NotRequired[str]

class TemplateMeta(TypedDict):
    """Metadata of a template, without a name."""

    annotations: NotRequired[dict[str, str]]
    creationTimestamp: NotRequired[str]
    deletionGracePeriodSeconds: NotRequired[int]
    deletionTimestamp: NotRequired[str]
    finalizers: NotRequired[list[str]]
    generateName: NotRequired[str]
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    managedFields: NotRequired[list[ManagedFieldsEntry]]
    name: NotRequired[str]
    namespace: NotRequired[str]
    ownerReferences: NotRequired[list[OwnerReference]]
    resourceVersion: NotRequired[str]
    selfLink: NotRequired[str]
    uid: NotRequired[str]

class ObjectMeta(TypedDict):
    """Data that every stored object has, whatever its kind."""

    annotations: NotRequired[dict[str, str]]
    creationTimestamp: NotRequired[str]
    deletionGracePeriodSeconds: NotRequired[int]
    deletionTimestamp: NotRequired[str]
    finalizers: NotRequired[list[str]]
    generateName: NotRequired[str]
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    managedFields: NotRequired[list[ManagedFieldsEntry]]
    name: str
    namespace: NotRequired[str]
    ownerReferences: NotRequired[list[OwnerReference]]
    resourceVersion: NotRequired[str]
    selfLink: NotRequired[str]
    uid: NotRequired[str]

class OwnerReference(TypedDict):
    """Points from an object to its owner, which must be in the same namespace or of the whole cl."""

    apiVersion: str
    blockOwnerDeletion: NotRequired[bool]
    controller: NotRequired[bool]
    kind: str
    name: str
    uid: str

class Preconditions(TypedDict):
    """What must be true of an object before it is deleted."""

    resourceVersion: NotRequired[str]
    uid: NotRequired[str]

class ServerAddressByClientCIDR(TypedDict):
    """The address that clients of one network should use."""

    clientCIDR: str
    serverAddress: str

class ShardInfo(TypedDict):
    """Says which shard of the objects a list contains."""

    selector: str

class Status(TypedDict):
    """Outcome of a request that has no object as its answer, such as an error."""

    apiVersion: Literal["v1"]
    kind: Literal["Status"]
    code: NotRequired[int]
    details: NotRequired[StatusDetails]
    message: NotRequired[str]
    metadata: NotRequired[ListMeta]
    reason: NotRequired[str]
    status: NotRequired[str]

class StatusCause(TypedDict):
    """One of several reasons why a request failed."""

    field: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]

class StatusDetails(TypedDict):
    """What a failed request was about."""

    causes: NotRequired[list[StatusCause]]
    group: NotRequired[str]
    kind: NotRequired[str]
    name: NotRequired[str]
    retryAfterSeconds: NotRequired[int]
    uid: NotRequired[str]

class WatchEvent(TypedDict):
    """One change, as a watch sends it."""

    object: dict[str, Any]
    type: str
