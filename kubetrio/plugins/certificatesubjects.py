"""CertificateSubjectRestriction: no certificate makes a user one of ``system:masters``.

Source: docs "Admission control" (CertificateSubjectRestriction).
"""

from __future__ import annotations

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.plugin import Base, about, denied
from kubetrio.kinds.certificates.requests import API_CLIENT, read_request
from kubetrio.machinery.identity import MASTERS
from kubetrio.machinery.names import GroupResource

REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")


class CertificateSubjectRestriction(Base):
    """The plugin."""

    name = "CertificateSubjectRestriction"
    resources = frozenset({REQUESTS})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse client certificates of the group that may do everything."""
        obj = about(attributes, REQUESTS)
        if obj is None or (obj.get("spec") or {}).get("signerName") != API_CLIENT:
            return
        try:
            groups = read_request(obj["spec"].get("request") or "").organizations
        except ValueError as error:
            raise denied(attributes, f"failed to parse CSR: {error}") from None
        if MASTERS in groups:
            raise denied(
                attributes,
                f"use of {API_CLIENT} signer with {MASTERS} group is not allowed",
            )
