"""Types of certificates/v1alpha1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class ClusterTrustBundle(TypedDict):
    """Certificates of authorities, for everybody in the cluster to trust."""

    apiVersion: Literal["certificates.k8s.io/v1alpha1"]
    kind: Literal["ClusterTrustBundle"]
    metadata: NotRequired[ObjectMeta]
    spec: ClusterTrustBundleSpec

class ClusterTrustBundleSpec(TypedDict):
    """Describes a bundle of certificates."""

    signerName: NotRequired[str]
    trustBundle: str
