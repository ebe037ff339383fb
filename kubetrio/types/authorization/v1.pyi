"""Types of authorization/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta

class FieldSelectorAttributes(TypedDict):
    """The field selector of a request; rawSelector or requirements."""

    rawSelector: NotRequired[str]
    requirements: NotRequired[list[FieldSelectorRequirement]]

class LabelSelectorAttributes(TypedDict):
    """The label selector of a request; rawSelector or requirements."""

    rawSelector: NotRequired[str]
    requirements: NotRequired[list[LabelSelectorRequirement]]

class LocalSubjectAccessReview(TypedDict):
    """Asks whether somebody may do something in one namespace."""

    apiVersion: Literal["authorization.k8s.io/v1"]
    kind: Literal["LocalSubjectAccessReview"]
    metadata: NotRequired[ObjectMeta]
    spec: SubjectAccessReviewSpec
    status: NotRequired[SubjectAccessReviewStatus]

class NonResourceAttributes(TypedDict):
    """An action on a path that is no resource."""

    path: NotRequired[str]
    verb: NotRequired[str]

class NonResourceRule(TypedDict):
    """Actions that are permitted on other paths."""

    nonResourceURLs: NotRequired[list[str]]
    verbs: list[str]

class ResourceAttributes(TypedDict):
    """An action on a resource."""

    fieldSelector: NotRequired[FieldSelectorAttributes]
    group: NotRequired[str]
    labelSelector: NotRequired[LabelSelectorAttributes]
    name: NotRequired[str]
    namespace: NotRequired[str]
    resource: NotRequired[str]
    subresource: NotRequired[str]
    verb: NotRequired[str]
    version: NotRequired[str]

class ResourceRule(TypedDict):
    """Actions that are permitted on resources."""

    apiGroups: NotRequired[list[str]]
    resourceNames: NotRequired[list[str]]
    resources: NotRequired[list[str]]
    verbs: list[str]

class SelfSubjectAccessReview(TypedDict):
    """Asks whether you may do something."""

    apiVersion: Literal["authorization.k8s.io/v1"]
    kind: Literal["SelfSubjectAccessReview"]
    metadata: NotRequired[ObjectMeta]
    spec: SelfSubjectAccessReviewSpec
    status: NotRequired[SubjectAccessReviewStatus]

class SelfSubjectAccessReviewSpec(TypedDict):
    """Describes the action; one of the fields is set."""

    nonResourceAttributes: NotRequired[NonResourceAttributes]
    resourceAttributes: NotRequired[ResourceAttributes]

class SelfSubjectRulesReview(TypedDict):
    """Asks for everything you may do in a namespace."""

    apiVersion: Literal["authorization.k8s.io/v1"]
    kind: Literal["SelfSubjectRulesReview"]
    metadata: NotRequired[ObjectMeta]
    spec: SelfSubjectRulesReviewSpec
    status: NotRequired[SubjectRulesReviewStatus]

class SelfSubjectRulesReviewSpec(TypedDict):
    """Describes where to look."""

    namespace: NotRequired[str]

class SubjectAccessReview(TypedDict):
    """Asks whether somebody may do something."""

    apiVersion: Literal["authorization.k8s.io/v1"]
    kind: Literal["SubjectAccessReview"]
    metadata: NotRequired[ObjectMeta]
    spec: SubjectAccessReviewSpec
    status: NotRequired[SubjectAccessReviewStatus]

class SubjectAccessReviewSpec(TypedDict):
    """Describes somebody and an action; one of the two kinds of attributes is set."""

    extra: NotRequired[dict[str, list[str]]]
    groups: NotRequired[list[str]]
    nonResourceAttributes: NotRequired[NonResourceAttributes]
    resourceAttributes: NotRequired[ResourceAttributes]
    uid: NotRequired[str]
    user: NotRequired[str]

class SubjectAccessReviewStatus(TypedDict):
    """The answer of an access review."""

    allowed: bool
    denied: NotRequired[bool]
    evaluationError: NotRequired[str]
    reason: NotRequired[str]

class SubjectRulesReviewStatus(TypedDict):
    """What somebody may do; good for showing, not for deciding."""

    evaluationError: NotRequired[str]
    incomplete: bool
    nonResourceRules: list[NonResourceRule]
    resourceRules: list[ResourceRule]
