"""Client certificates of other users than the server's own, signed with its authority's key.

Source: Kubernetes documentation "X509 client certificates": the common name is the user, the
organizations are the groups.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kubetrio.tls.certificates import CLOCK_SKEW
from kubetrio.tls.pem import certificates, private_keys
from kubetrio.tls.pki import PkiError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

LONGEST_NAME = 64  # RFC 5280, ub-common-name and ub-organization-name


class Issued(NamedTuple):
    """A client certificate that was made.

    Args:
        certificate: PEM.
        key: its private key, PEM.
        until: when it ends, in UTC.
    """

    certificate: bytes
    key: bytes
    until: dt.datetime


def issue(
    cert_dir: Path, user: str, groups: Sequence[str], now: dt.datetime, lifetime_s: float
) -> Issued:
    """Make a client certificate for a user.  Blocking.

    Args:
        cert_dir: directory with the authority, as `kubetrio.tls.pki.ensure` made it.
        user: name of the user.
        groups: names of the user's groups.
        now: the time, with a zone.
        lifetime_s: how long it is valid, in seconds; no longer than the authority.

    Raises:
        PkiError: the authority's key is missing or is none.
        ValueError: a name does not fit into a certificate.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    for name in (user, *groups):
        if not 0 < len(name) <= LONGEST_NAME:
            raise ValueError(f"{name!r} has not 1 to {LONGEST_NAME} characters")
    ca, signer = _authority(cert_dir)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise PkiError(f"{cert_dir / 'ca.key'} is no elliptic curve key; restore it from a backup")
    now = now.astimezone(dt.UTC).replace(microsecond=0)
    until = min(now + dt.timedelta(seconds=lifetime_s), ca.not_valid_after_utc)
    key = ec.generate_private_key(ec.SECP256R1())
    attribute, oid = x509.NameAttribute, x509.NameOID
    organizations = [attribute(oid.ORGANIZATION_NAME, group) for group in groups]
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=False, crl_sign=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([*organizations, attribute(oid.COMMON_NAME, user)]))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    return Issued(made.public_bytes(pem), key.private_bytes(pem, form, plain), until)


def _authority(cert_dir: Path) -> tuple[x509.Certificate, PrivateKeyTypes]:
    """The authority of clients and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        [cert, *_] = certificates((cert_dir / "ca.crt").read_bytes())
        [key, *_] = private_keys((cert_dir / "ca.key").read_bytes())
        return x509.load_der_x509_certificate(cert), load_der_private_key(key, None)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PkiError(
            f"{error.filename}: {why}; start the server once, or name its --cert-dir"
        ) from error
    except (ValueError, TypeError) as error:
        raise PkiError(f"the authority in {cert_dir} cannot be used: {error}") from error
