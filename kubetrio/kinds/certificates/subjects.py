"""Who a certificate request is for."""

from __future__ import annotations

import base64
import binascii


def common_name(request: str) -> str:
    """The common name of a request's subject, the last of several; empty without one.

    Args:
        request: the PEM text in base64, as the API has it.

    Raises:
        ValueError: it is no request.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        pem = base64.b64decode(request, validate=True)
        subject = x509.load_pem_x509_csr(pem).subject
    except (binascii.Error, ValueError):
        raise ValueError("PEM block type must be CERTIFICATE REQUEST") from None
    found = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[-1].value) if found else ""
