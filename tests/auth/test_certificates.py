"""From client certificates to users."""

import datetime as dt
from hashlib import sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubetrio.auth.certificates import (
    CREDENTIAL_ID,
    UID_OID,
    CertificateError,
    Subject,
    user_of_der,
    user_of_peer,
)
from kubetrio.machinery.identity import ANONYMOUS, UserInfo, authenticated

CN, ORG = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME
UID = x509.ObjectIdentifier(UID_OID)
KEY = ec.generate_private_key(ec.SECP256R1())
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def _der(*attributes: tuple[x509.ObjectIdentifier, str]) -> bytes:
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + dt.timedelta(days=1))
    cert = builder.public_key(KEY.public_key()).sign(KEY, hashes.SHA256())
    return cert.public_bytes(serialization.Encoding.DER)


def test_common_name_and_organizations() -> None:
    """The user is the common name, its groups the organizations in their order."""
    subject: Subject = (
        (("organizationName", "zeta"),),
        (("countryName", "CH"),),
        (("organizationName", "alpha"), ("commonName", "jane")),
    )
    user = user_of_peer(subject, b"der")
    expected_id = f"X509SHA256={sha256(b'der').hexdigest()}"
    assert user == UserInfo("jane", "", ("zeta", "alpha"), {CREDENTIAL_ID: (expected_id,)})


def test_der_gives_the_same_user() -> None:
    """Both ways into the module agree."""
    der = _der((ORG, "zeta"), (CN, "jane"), (ORG, "alpha"), (UID, "u-1"))
    subject: Subject = (
        (("organizationName", "zeta"),),
        (("commonName", "jane"),),
        (("organizationName", "alpha"),),
        ((UID_OID, "u-1"),),
    )
    user = user_of_der(der)
    assert user is not None
    assert user.uid == "u-1"
    assert user == user_of_peer(subject, der)


@pytest.mark.parametrize("subject", [(), ((("organizationName", "devs"),),)])
def test_without_common_name_nobody(subject: Subject) -> None:
    """A certificate without common name authenticates nobody."""
    assert user_of_peer(subject, b"") is None


def test_der_without_common_name_is_nobody() -> None:
    """The same from DER."""
    assert user_of_der(_der((ORG, "devs"))) is None


def test_the_last_common_name_counts() -> None:
    """Of several common names the last one is the user."""
    subject: Subject = ((("commonName", "a"),), (("commonName", "b"),))
    user = user_of_peer(subject, b"")
    assert user is not None
    assert user.name == "b"


@pytest.mark.parametrize(
    ("uids", "message"),
    [
        (("a", "b"), "expected 1 UID, but found multiple: [a b]"),
        (("",), "UID cannot be an empty string"),
    ],
)
def test_contradictory_uids(uids: tuple[str, ...], message: str) -> None:
    """A subject with two uids, or an empty one, is refused."""
    subject: Subject = ((("commonName", "jane"),), *(((UID_OID, uid),) for uid in uids))
    with pytest.raises(CertificateError) as caught:
        user_of_peer(subject, b"")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("kube-apiserver-kubelet-client", "kubetrio:kubelet-api-admins"),
        ("kube-apiserver-kubelet-client", "system:masters"),
        ("jane", "kubetrio:kubelet-api-admins"),
    ],
)
def test_what_is_shown_to_kubelets_is_nobody(name: str, group: str) -> None:
    """Also what earlier releases showed them: whoever relays it is not its owner."""
    subject: Subject = ((("organizationName", group),), (("commonName", name),))
    with pytest.raises(CertificateError, match="for kubelets"):
        user_of_peer(subject, b"")


@pytest.mark.parametrize("der", [b"", b"\x30\x00", b"not der"])
def test_garbage_is_refused(der: bytes) -> None:
    """Bytes that are no certificate are an error of this module."""
    with pytest.raises(CertificateError):
        user_of_der(der)


def test_authenticated_is_added_once_and_last() -> None:
    """The group of the authenticated is appended, and not twice."""
    user = authenticated(UserInfo("jane", groups=("devs",)))
    assert user.groups == ("devs", "system:authenticated")
    assert authenticated(user) is user


def test_anonymous_stays_unauthenticated() -> None:
    """The anonymous user gets no further group."""
    assert authenticated(ANONYMOUS) is ANONYMOUS
