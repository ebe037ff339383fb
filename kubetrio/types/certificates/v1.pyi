"""Types of certificates/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class CertificateSigningRequest(TypedDict):
    """Asks a signer for a certificate."""

    apiVersion: Literal["certificates.k8s.io/v1"]
    kind: Literal["CertificateSigningRequest"]
    metadata: ObjectMeta
    spec: CertificateSigningRequestSpec
    status: NotRequired[CertificateSigningRequestStatus]

class CertificateSigningRequestCondition(TypedDict):
    """One aspect of a request's state: Approved, Denied or Failed."""

    lastTransitionTime: NotRequired[str]
    lastUpdateTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class CertificateSigningRequestSpec(TypedDict):
    """Describes the certificate to ask for; cannot be changed."""

    expirationSeconds: NotRequired[int]
    extra: NotRequired[dict[str, list[str]]]
    groups: NotRequired[list[str]]
    request: str
    signerName: str
    uid: NotRequired[str]
    usages: NotRequired[list[Literal["any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"]]]
    username: NotRequired[str]

class CertificateSigningRequestStatus(TypedDict):
    """Whether a request was approved, and the certificate."""

    certificate: NotRequired[str]
    conditions: NotRequired[list[CertificateSigningRequestCondition]]
