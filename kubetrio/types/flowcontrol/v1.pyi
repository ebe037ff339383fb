"""Types of flowcontrol/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class ExemptPriorityLevelConfiguration(TypedDict):
    """A priority level whose requests never wait."""

    lendablePercent: NotRequired[int]
    nominalConcurrencyShares: NotRequired[int]

class FlowDistinguisherMethod(TypedDict):
    """How the requests of a schema are divided into flows."""

    type: str

class FlowSchema(TypedDict):
    """Chooses requests, and the priority level that they are treated by."""

    apiVersion: Literal["flowcontrol.apiserver.k8s.io/v1"]
    kind: Literal["FlowSchema"]
    metadata: ObjectMeta
    spec: FlowSchemaSpec
    status: NotRequired[FlowSchemaStatus]

class FlowSchemaCondition(TypedDict):
    """One aspect of a schema's state; Dangling says that its level does not exist."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: NotRequired[str]
    type: NotRequired[str]

class FlowSchemaSpec(TypedDict):
    """Describes which requests go to which level."""

    distinguisherMethod: NotRequired[FlowDistinguisherMethod]
    matchingPrecedence: NotRequired[int]
    priorityLevelConfiguration: PriorityLevelConfigurationReference
    rules: NotRequired[list[PolicyRulesWithSubjects]]

class FlowSchemaStatus(TypedDict):
    """What was observed of a schema."""

    conditions: NotRequired[list[FlowSchemaCondition]]

class GroupSubject(TypedDict):
    """A group of users."""

    name: str

class LimitResponse(TypedDict):
    """What becomes of requests that cannot run at once."""

    queuing: NotRequired[QueuingConfiguration]
    type: str

class LimitedPriorityLevelConfiguration(TypedDict):
    """A priority level that limits how many of its requests run at once."""

    borrowingLimitPercent: NotRequired[int]
    lendablePercent: NotRequired[int]
    limitResponse: NotRequired[LimitResponse]
    nominalConcurrencyShares: NotRequired[int]

class NonResourcePolicyRule(TypedDict):
    """Chooses requests for paths that are no resources."""

    nonResourceURLs: list[str]
    verbs: list[str]

class PolicyRulesWithSubjects(TypedDict):
    """Chooses requests by who makes them and what they are for."""

    nonResourceRules: NotRequired[list[NonResourcePolicyRule]]
    resourceRules: NotRequired[list[ResourcePolicyRule]]
    subjects: list[Subject]

class PriorityLevelConfiguration(TypedDict):
    """A level of priority, and how many of its requests run at once."""

    apiVersion: Literal["flowcontrol.apiserver.k8s.io/v1"]
    kind: Literal["PriorityLevelConfiguration"]
    metadata: ObjectMeta
    spec: PriorityLevelConfigurationSpec
    status: NotRequired[PriorityLevelConfigurationStatus]

class PriorityLevelConfigurationCondition(TypedDict):
    """One aspect of a level's state."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: NotRequired[str]
    type: NotRequired[str]

class PriorityLevelConfigurationReference(TypedDict):
    """Names a priority level."""

    name: str

class PriorityLevelConfigurationSpec(TypedDict):
    """Describes how a level treats requests; the field for its type is set."""

    exempt: NotRequired[ExemptPriorityLevelConfiguration]
    limited: NotRequired[LimitedPriorityLevelConfiguration]
    type: str

class PriorityLevelConfigurationStatus(TypedDict):
    """What was observed of a level."""

    conditions: NotRequired[list[PriorityLevelConfigurationCondition]]

class QueuingConfiguration(TypedDict):
    """Queues of a priority level."""

    handSize: NotRequired[int]
    queueLengthLimit: NotRequired[int]
    queues: NotRequired[int]

class ResourcePolicyRule(TypedDict):
    """Chooses requests for resources; all fields must match."""

    apiGroups: list[str]
    clusterScope: NotRequired[bool]
    namespaces: NotRequired[list[str]]
    resources: list[str]
    verbs: list[str]

class ServiceAccountSubject(TypedDict):
    """A service account."""

    name: str
    namespace: str

class Subject(TypedDict):
    """Somebody who makes requests; the field for its kind is set."""

    group: NotRequired[GroupSubject]
    kind: str
    serviceAccount: NotRequired[ServiceAccountSubject]
    user: NotRequired[UserSubject]

class UserSubject(TypedDict):
    """A user."""

    name: str
