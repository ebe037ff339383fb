"""CertificateSubjectRestriction: nobody becomes ``system:masters`` by a certificate.

Source: docs "Admission control" (CertificateSubjectRestriction).
"""

from __future__ import annotations

import base64
import binascii

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.plugin import Base, about, denied
from kubetrio.machinery.identity import MASTERS
from kubetrio.machinery.names import GroupResource

REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


def organizations(request: str) -> list[str]:
    """Organizations of a certificate request's subject.

    Args:
        request: the PEM text in base64, as the API has it.

    Raises:
        ValueError: it is not a request.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        pem = base64.b64decode(request, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    subject = x509.load_pem_x509_csr(pem).subject
    found = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [str(attribute.value) for attribute in found]


class CertificateSubjectRestriction(Base):
    """The plugin."""

    name = "CertificateSubjectRestriction"
    resources = frozenset({REQUESTS})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse client certificates of the group that may do everything."""
        obj = about(attributes, REQUESTS)
        if obj is None or (obj.get("spec") or {}).get("signerName") != CLIENT_SIGNER:
            return
        try:
            groups = organizations(obj["spec"].get("request") or "")
        except ValueError as error:
            raise denied(attributes, f"failed to parse CSR: {error}") from None
        if MASTERS in groups:
            raise denied(
                attributes,
                f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed",
            )
