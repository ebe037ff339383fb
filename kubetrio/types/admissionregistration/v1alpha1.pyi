"""Types of admissionregistration/v1alpha1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta

class ApplyConfiguration(TypedDict):
    """A change that is merged into the object, as server-side apply does."""

    expression: NotRequired[str]

class JSONPatch(TypedDict):
    """A change by a JSON patch."""

    expression: NotRequired[str]

class MatchCondition(TypedDict):
    """A condition that a request must meet."""

    expression: str
    name: str

class MatchResources(TypedDict):
    """Chooses requests; all fields must match."""

    excludeResourceRules: NotRequired[list[NamedRuleWithOperations]]
    matchPolicy: NotRequired[str]
    namespaceSelector: NotRequired[LabelSelector]
    objectSelector: NotRequired[LabelSelector]
    resourceRules: NotRequired[list[NamedRuleWithOperations]]

class MutatingAdmissionPolicy(TypedDict):
    """Rules in CEL that change objects before they are stored."""

    apiVersion: Literal["admissionregistration.k8s.io/v1alpha1"]
    kind: Literal["MutatingAdmissionPolicy"]
    metadata: NotRequired[ObjectMeta]
    spec: NotRequired[MutatingAdmissionPolicySpec]

class MutatingAdmissionPolicyBinding(TypedDict):
    """Puts a MutatingAdmissionPolicy into force."""

    apiVersion: Literal["admissionregistration.k8s.io/v1alpha1"]
    kind: Literal["MutatingAdmissionPolicyBinding"]
    metadata: NotRequired[ObjectMeta]
    spec: NotRequired[MutatingAdmissionPolicyBindingSpec]

class MutatingAdmissionPolicyBindingSpec(TypedDict):
    """Describes where a policy is in force."""

    matchResources: NotRequired[MatchResources]
    paramRef: NotRequired[ParamRef]
    policyName: NotRequired[str]

class MutatingAdmissionPolicySpec(TypedDict):
    """Describes changes and what they are for."""

    failurePolicy: NotRequired[str]
    matchConditions: NotRequired[list[MatchCondition]]
    matchConstraints: NotRequired[MatchResources]
    mutations: NotRequired[list[Mutation]]
    paramKind: NotRequired[ParamKind]
    reinvocationPolicy: NotRequired[str]
    variables: NotRequired[list[Variable]]

class Mutation(TypedDict):
    """One change; the field that patchType names is set."""

    applyConfiguration: NotRequired[ApplyConfiguration]
    jsonPatch: NotRequired[JSONPatch]
    patchType: str

class NamedRuleWithOperations(TypedDict):
    """Chooses requests by resource, operation and name."""

    apiGroups: NotRequired[list[str]]
    apiVersions: NotRequired[list[str]]
    operations: NotRequired[list[str]]
    resourceNames: NotRequired[list[str]]
    resources: NotRequired[list[str]]
    scope: NotRequired[str]

class ParamKind(TypedDict):
    """Kind of the objects with parameters of a policy."""

    apiVersion: NotRequired[str]
    kind: NotRequired[str]

class ParamRef(TypedDict):
    """Points to objects with parameters; one of name and selector is set."""

    name: NotRequired[str]
    namespace: NotRequired[str]
    parameterNotFoundAction: NotRequired[str]
    selector: NotRequired[LabelSelector]

class Variable(TypedDict):
    """A named expression."""

    expression: str
    name: str
