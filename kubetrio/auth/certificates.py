"""Client certificates: subject to user.

The common name is the user, every organization a group in the order of the subject, and the
attribute 1.3.6.1.4.1.57683.2 the uid (feature ``AllowParsingUserUIDFromCertAuth``).  The extra
key ``authentication.kubernetes.io/credential-id`` says which certificate it was.

What a server shows to kubelets is no user's identity here: a user who had the server connect to
itself would otherwise be that server.

Nothing here verifies a certificate: the TLS handshake did, against the client CA and for the
purpose of client authentication, before these functions may be called.

Source: Kubernetes documentation "Authenticating", section "X.509 client certificates".
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from kubetrio.machinery.identity import UserInfo
from kubetrio.tls.certificates import KUBELET_ADMINS, KUBELET_CLIENT, read_certificate

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""Extra key that identifies the credential used."""

UID_OID = "1.3.6.1.4.1.57683.2"
"""Subject attribute that carries a user's uid."""

Subject = tuple[tuple[tuple[str, str], ...], ...]
"""The ``subject`` of ``ssl.SSLSocket.getpeercert()``: a tuple of RDNs of (name, value)."""


class CertificateError(ValueError):
    """A verified certificate whose subject names no user; the request is a 401 without a token."""


def user_of_peer(subject: Subject, der: bytes) -> UserInfo | None:
    """The user of a connection, from what ``ssl`` tells of the peer; imports nothing.

    Args:
        subject: ``getpeercert()["subject"]`` of a verified peer.
        der: ``getpeercert(binary_form=True)``, for the credential id.

    Returns:
        The user without ``system:authenticated``, or None when the subject has no common name.

    Raises:
        CertificateError: more than one uid, an empty one, or made to be shown to kubelets.
    """
    return _user((pair for rdn in subject for pair in rdn), der)


def user_of_der(der: bytes) -> UserInfo | None:
    """As `user_of_peer`, for callers that have only the certificate.

    The first call imports ``cryptography`` (some 40 ms).

    Args:
        der: a certificate that was verified.

    Raises:
        CertificateError: not a certificate, and see `user_of_peer`.
    """
    try:
        subject = read_certificate(der).subject
        pairs = [(_NAMES.get(a.oid.dotted_string, a.oid.dotted_string), a.value) for a in subject]
    except (ValueError, TypeError) as error:  # of a name that is a string of bits
        raise CertificateError(f"not an X.509 certificate: {error}") from error
    return _user(((name, value) for name, value in pairs if isinstance(value, str)), der)


_NAMES = {"2.5.4.3": "commonName", "2.5.4.10": "organizationName"}


def _user(subject: Iterable[tuple[str, str]], der: bytes) -> UserInfo | None:
    name = ""
    groups: list[str] = []
    uids: list[str] = []
    for kind, value in subject:
        if kind == "commonName":
            # Of several common names the last counts, as in Go's reading of a subject.
            name = value
        elif kind == "organizationName":
            groups.append(value)
        elif kind == UID_OID:
            uids.append(value)
    if not name:
        return None
    if name == KUBELET_CLIENT or KUBELET_ADMINS in groups:
        raise CertificateError("the certificate is for kubelets, not for this server")
    if len(uids) > 1:
        raise CertificateError(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        raise CertificateError("UID cannot be an empty string")
    extra = {CREDENTIAL_ID: (f"X509SHA256={sha256(der).hexdigest()}",)}
    return UserInfo(name, uids[0] if uids else "", tuple(groups), extra)
