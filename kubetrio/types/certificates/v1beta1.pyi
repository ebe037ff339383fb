"""Types of certificates/v1beta1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, ObjectMeta

class ClusterTrustBundle(TypedDict):
    """Certificates of authorities, for everybody in the cluster to trust."""

    apiVersion: Literal["certificates.k8s.io/v1beta1"]
    kind: Literal["ClusterTrustBundle"]
    metadata: NotRequired[ObjectMeta]
    spec: ClusterTrustBundleSpec

class ClusterTrustBundleSpec(TypedDict):
    """Describes a bundle of certificates."""

    signerName: NotRequired[str]
    trustBundle: str

class PodCertificateRequest(TypedDict):
    """Asks a signer for a certificate of a pod; made by the kubelet."""

    apiVersion: Literal["certificates.k8s.io/v1beta1"]
    kind: Literal["PodCertificateRequest"]
    metadata: NotRequired[ObjectMeta]
    spec: PodCertificateRequestSpec
    status: NotRequired[PodCertificateRequestStatus]

class PodCertificateRequestSpec(TypedDict):
    """Describes a pod and the certificate to ask for; cannot be changed."""

    maxExpirationSeconds: NotRequired[int]
    nodeName: str
    nodeUID: str
    pkixPublicKey: NotRequired[str]
    podName: str
    podUID: str
    proofOfPossession: NotRequired[str]
    serviceAccountName: str
    serviceAccountUID: str
    signerName: str
    stubPKCS10Request: str
    unverifiedUserAnnotations: NotRequired[dict[str, str]]

class PodCertificateRequestStatus(TypedDict):
    """The certificate of a pod, or why there is none."""

    beginRefreshAt: NotRequired[str]
    certificateChain: NotRequired[str]
    conditions: NotRequired[list[Condition]]
    notAfter: NotRequired[str]
    notBefore: NotRequired[str]
