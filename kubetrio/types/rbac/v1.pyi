"""Types of rbac/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta

class AggregationRule(TypedDict):
    """Fills the rules of a ClusterRole from other ClusterRoles."""

    clusterRoleSelectors: NotRequired[list[LabelSelector]]

class ClusterRole(TypedDict):
    """A set of permissions in the whole cluster, or in the namespaces of RoleBindings."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["ClusterRole"]
    metadata: ObjectMeta
    aggregationRule: NotRequired[AggregationRule]
    rules: NotRequired[list[PolicyRule]]

class ClusterRoleBinding(TypedDict):
    """Grants a ClusterRole in all namespaces and for cluster-wide resources."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["ClusterRoleBinding"]
    metadata: ObjectMeta
    roleRef: RoleRef
    subjects: NotRequired[list[Subject]]

class PolicyRule(TypedDict):
    """Permits actions on resources or on other paths."""

    apiGroups: NotRequired[list[str]]
    nonResourceURLs: NotRequired[list[str]]
    resourceNames: NotRequired[list[str]]
    resources: NotRequired[list[str]]
    verbs: list[str]

class Role(TypedDict):
    """A set of permissions in a namespace."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["Role"]
    metadata: ObjectMeta
    rules: NotRequired[list[PolicyRule]]

class RoleBinding(TypedDict):
    """Grants a Role or ClusterRole in a namespace."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["RoleBinding"]
    metadata: ObjectMeta
    roleRef: RoleRef
    subjects: NotRequired[list[Subject]]

class RoleRef(TypedDict):
    """Points to a role."""

    apiGroup: NotRequired[str]
    kind: str
    name: str

class Subject(TypedDict):
    """Somebody who gets permissions."""

    apiGroup: NotRequired[str]
    kind: str
    name: str
    namespace: NotRequired[str]
