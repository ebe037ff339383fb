"""Types of admissionregistration/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, LabelSelector, ObjectMeta

class ApplyConfiguration(TypedDict):
    """A change that is merged into the object, as server-side apply does."""

    expression: NotRequired[str]

class AuditAnnotation(TypedDict):
    """An annotation for the audit log."""

    key: str
    valueExpression: str

class ExpressionWarning(TypedDict):
    """A warning about an expression, from checking its types."""

    fieldRef: str
    warning: str

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
    matchPolicy: NotRequired[Literal["Equivalent", "Exact"]]
    namespaceSelector: NotRequired[LabelSelector]
    objectSelector: NotRequired[LabelSelector]
    resourceRules: NotRequired[list[NamedRuleWithOperations]]

class MutatingAdmissionPolicy(TypedDict):
    """Rules in CEL that change objects before they are stored."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["MutatingAdmissionPolicy"]
    metadata: ObjectMeta
    spec: NotRequired[MutatingAdmissionPolicySpec]

class MutatingAdmissionPolicyBinding(TypedDict):
    """Puts a MutatingAdmissionPolicy into force."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["MutatingAdmissionPolicyBinding"]
    metadata: ObjectMeta
    spec: NotRequired[MutatingAdmissionPolicyBindingSpec]

class MutatingAdmissionPolicyBindingSpec(TypedDict):
    """Describes where a policy is in force."""

    matchResources: NotRequired[MatchResources]
    paramRef: NotRequired[ParamRef]
    policyName: NotRequired[str]

class MutatingAdmissionPolicySpec(TypedDict):
    """Describes changes and what they are for."""

    failurePolicy: NotRequired[Literal["Fail", "Ignore"]]
    matchConditions: NotRequired[list[MatchCondition]]
    matchConstraints: NotRequired[MatchResources]
    mutations: NotRequired[list[Mutation]]
    paramKind: NotRequired[ParamKind]
    reinvocationPolicy: NotRequired[Literal["IfNeeded", "Never"]]
    variables: NotRequired[list[Variable]]

class MutatingWebhook(TypedDict):
    """See the API's MutatingWebhook."""

    admissionReviewVersions: list[str]
    clientConfig: WebhookClientConfig
    failurePolicy: NotRequired[Literal["Fail", "Ignore"]]
    matchConditions: NotRequired[list[MatchCondition]]
    matchPolicy: NotRequired[Literal["Equivalent", "Exact"]]
    name: str
    namespaceSelector: NotRequired[LabelSelector]
    objectSelector: NotRequired[LabelSelector]
    reinvocationPolicy: NotRequired[Literal["IfNeeded", "Never"]]
    rules: NotRequired[list[RuleWithOperations]]
    sideEffects: Literal["None", "NoneOnDryRun", "Some", "Unknown"]
    timeoutSeconds: NotRequired[int]

class MutatingWebhookConfiguration(TypedDict):
    """Webhooks that can change objects before they are stored."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["MutatingWebhookConfiguration"]
    metadata: ObjectMeta
    webhooks: NotRequired[list[MutatingWebhook]]

class Mutation(TypedDict):
    """One change; the field that patchType names is set."""

    applyConfiguration: NotRequired[ApplyConfiguration]
    jsonPatch: NotRequired[JSONPatch]
    patchType: Literal["ApplyConfiguration", "JSONPatch"]

class NamedRuleWithOperations(TypedDict):
    """Chooses requests by resource, operation and name."""

    apiGroups: NotRequired[list[str]]
    apiVersions: NotRequired[list[str]]
    operations: NotRequired[list[Literal["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]]]
    resourceNames: NotRequired[list[str]]
    resources: NotRequired[list[str]]
    scope: NotRequired[Literal["*", "Cluster", "Namespaced"]]

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

class RuleWithOperations(TypedDict):
    """Chooses requests by resource and operation."""

    apiGroups: NotRequired[list[str]]
    apiVersions: NotRequired[list[str]]
    operations: NotRequired[list[Literal["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]]]
    resources: NotRequired[list[str]]
    scope: NotRequired[Literal["*", "Cluster", "Namespaced"]]

class ServiceReference(TypedDict):
    """Points to the Service of a webhook."""

    name: str
    namespace: str
    path: NotRequired[str]
    port: NotRequired[int]

class TypeChecking(TypedDict):
    """Result of checking the types of a policy's expressions."""

    expressionWarnings: NotRequired[list[ExpressionWarning]]

class ValidatingAdmissionPolicy(TypedDict):
    """Rules in CEL that requests must obey."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingAdmissionPolicy"]
    metadata: ObjectMeta
    spec: NotRequired[ValidatingAdmissionPolicySpec]
    status: NotRequired[ValidatingAdmissionPolicyStatus]

class ValidatingAdmissionPolicyBinding(TypedDict):
    """Puts a ValidatingAdmissionPolicy into force."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingAdmissionPolicyBinding"]
    metadata: ObjectMeta
    spec: ValidatingAdmissionPolicyBindingSpec

class ValidatingAdmissionPolicyBindingSpec(TypedDict):
    """Describes where a policy is in force and what a failure leads to."""

    matchResources: NotRequired[MatchResources]
    paramRef: NotRequired[ParamRef]
    policyName: str
    validationActions: list[Literal["Audit", "Deny", "Warn"]]

class ValidatingAdmissionPolicySpec(TypedDict):
    """Describes rules and what they are for."""

    auditAnnotations: NotRequired[list[AuditAnnotation]]
    failurePolicy: NotRequired[Literal["Fail", "Ignore"]]
    matchConditions: NotRequired[list[MatchCondition]]
    matchConstraints: NotRequired[MatchResources]
    paramKind: NotRequired[ParamKind]
    validations: NotRequired[list[Validation]]
    variables: NotRequired[list[Variable]]

class ValidatingAdmissionPolicyStatus(TypedDict):
    """What was found out about a policy."""

    conditions: NotRequired[list[Condition]]
    observedGeneration: NotRequired[int]
    typeChecking: NotRequired[TypeChecking]

class ValidatingWebhook(TypedDict):
    """A webhook that is asked about requests."""

    admissionReviewVersions: list[str]
    clientConfig: WebhookClientConfig
    failurePolicy: NotRequired[Literal["Fail", "Ignore"]]
    matchConditions: NotRequired[list[MatchCondition]]
    matchPolicy: NotRequired[Literal["Equivalent", "Exact"]]
    name: str
    namespaceSelector: NotRequired[LabelSelector]
    objectSelector: NotRequired[LabelSelector]
    rules: NotRequired[list[RuleWithOperations]]
    sideEffects: Literal["None", "NoneOnDryRun", "Some", "Unknown"]
    timeoutSeconds: NotRequired[int]

class ValidatingWebhookConfiguration(TypedDict):
    """Webhooks that can refuse requests."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingWebhookConfiguration"]
    metadata: ObjectMeta
    webhooks: NotRequired[list[ValidatingWebhook]]

class Validation(TypedDict):
    """A rule in CEL."""

    expression: str
    message: NotRequired[str]
    messageExpression: NotRequired[str]
    reason: NotRequired[str]

class Variable(TypedDict):
    """A named expression."""

    expression: str
    name: str

class WebhookClientConfig(TypedDict):
    """How a webhook is reached; exactly one of url and service is given."""

    caBundle: NotRequired[str]
    service: NotRequired[ServiceReference]
    url: NotRequired[str]
