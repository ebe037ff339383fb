"""Certificates made of requests, as kube-controller-manager's signers make them.

Subject, key and alternative names are the request's; nothing else of it is taken over.

Source: k8s.io/kubernetes/pkg/controller/certificates/authority (the permissive policy); RFC 5280.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kubetrio.auth.trust import SigningPair
from kubetrio.kinds.certificates.requests import Wanted
from kubetrio.tls.certificates import read_certificate
from kubetrio.tls.pem import certificates, private_keys

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
    from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512

BACKDATE = dt.timedelta(minutes=5)
"""How far in the past validity begins; also taken off the end of certificates that live long."""
SHORT = dt.timedelta(hours=8)
LEAST = dt.timedelta(minutes=10)

KEY_USAGES: Mapping[str, str] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
"""Usages of the API that are bits of the key usage, by their names in ``cryptography``."""

EXTENDED: Mapping[str, str] = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
"""Usages of the API that are extended ones, in the order in which certificates have them."""

SUBJECT = (
    "2.5.4.6", "2.5.4.10", "2.5.4.11", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.17",
)  # fmt: skip
"""Attributes of a subject that are taken over with all values, in this order: country,
organization, unit, locality, province, street, postal code."""
LAST = ("2.5.4.3", "2.5.4.5")
"""Those with their last value alone: common name, serial number."""


class CannotSign(ValueError):
    """The authority cannot be used, or has ended."""


def life(asked_s: int | None, longest: dt.timedelta) -> dt.timedelta:
    """How long a certificate lives.

    Args:
        asked_s: ``spec.expirationSeconds``, None when the request does not say.
        longest: what the signer gives at most, and to who did not ask.
    """
    if asked_s is None:
        return longest
    asked = dt.timedelta(seconds=asked_s)
    return longest if asked > longest else max(asked, LEAST)


def issue(
    wanted: Wanted,
    usages: Sequence[str],
    lives: dt.timedelta,
    pair: SigningPair,
    now: dt.datetime,
    serial: int,
) -> bytes:
    """Sign a certificate.  Blocking.

    Args:
        wanted: the request.
        usages: of the certificate, in the API's words.
        lives: for how long.
        pair: the authority; read anew each time, since it is seldom and may have been replaced.
        now: the time, in UTC.
        serial: number of the certificate, random, of 128 bits.

    Returns:
        PEM.

    Raises:
        CannotSign: the authority has ended, or its files hold no authority.
        OSError: they cannot be read.
        ValueError: the request's own signature or key is no good.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    ca, key = _authority(pair)
    last = ca.not_valid_after_utc
    now = now.replace(microsecond=0)
    start = now - BACKDATE
    if start >= last:
        raise CannotSign(f"the signer has expired: NotAfter={last:%Y-%m-%d %H:%M:%S +0000 UTC}")
    if now >= last:
        raise CannotSign(
            "refusing to sign a certificate that expired in the past: "
            f"NotAfter={last:%Y-%m-%d %H:%M:%S +0000 UTC}"
        )
    public = _checked_key(wanted.csr)
    end = now + lives - (dt.timedelta() if lives < SHORT else BACKDATE)
    subject = _subject(wanted.csr.subject)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(ca.subject)
        .public_key(public)
        .serial_number(serial or 1)
        .not_valid_before(start)
        .not_valid_after(min(end, last))
    )
    for extension, critical in _extensions(wanted, usages, ca, named=bool(subject.rdns)):
        builder = builder.add_extension(extension, critical=critical)
    cert = builder.sign(key, _digest(key))
    return cert.public_bytes(serialization.Encoding.PEM)


def _checked_key(csr: x509.CertificateSigningRequest) -> CertificatePublicKeyTypes:
    """The key of a request that was signed with it."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        good = csr.is_signature_valid
        public = csr.public_key()
    except (InvalidSignature, UnsupportedAlgorithm) as error:
        raise ValueError(f"unable to verify certificate request signature: {error}") from None
    if not good:
        raise ValueError("unable to verify certificate request signature")
    return public


def _extensions(
    wanted: Wanted, usages: Sequence[str], ca: x509.Certificate, *, named: bool
) -> list[tuple[x509.ExtensionType, bool]]:
    """Extensions of a certificate, and which are critical."""
    from cryptography import x509

    extensions: list[tuple[x509.ExtensionType, bool]] = []
    bits = {KEY_USAGES[usage] for usage in usages if usage in KEY_USAGES}
    if bits:
        every = set(KEY_USAGES.values())
        extensions.append((x509.KeyUsage(**{bit: bit in bits for bit in every}), True))
    asked = {EXTENDED[usage] for usage in usages if usage in EXTENDED}
    extended = [oid for oid in dict.fromkeys(EXTENDED.values()) if oid in asked]
    if extended:
        uses = [x509.ObjectIdentifier(oid) for oid in extended]
        extensions.append((x509.ExtendedKeyUsage(uses), False))
    extensions.append((x509.BasicConstraints(ca=False, path_length=None), True))
    try:
        identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        pass
    else:
        named_by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
        extensions.append((named_by, False))
    names = [name for kind in ("dns", "email", "ip", "uri") for name in wanted.names[kind]]
    if names:
        # RFC 5280, 4.2.1.6: critical where there is no other name.
        extensions.append((x509.SubjectAlternativeName(names), not named))
    return extensions


def _subject(asked: x509.Name) -> x509.Name:
    """What Go makes of a subject: a set of values for each attribute that it knows."""
    from cryptography import x509

    values: dict[str, list[x509.NameAttribute[str | bytes]]] = {}
    for attribute in asked:
        values.setdefault(attribute.oid.dotted_string, []).append(attribute)
    sets = [list(dict.fromkeys(values[oid])) for oid in SUBJECT if oid in values]
    sets += [values[oid][-1:] for oid in LAST if oid in values]
    return x509.Name([x509.RelativeDistinguishedName(each) for each in sets])


def _authority(
    pair: SigningPair,
) -> tuple[x509.Certificate, EllipticCurvePrivateKey | RSAPrivateKey]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    certs = certificates(pair.cert.read_bytes())
    keys = private_keys(pair.key.read_bytes())
    if len(certs) != 1:
        raise CannotSign(
            f'error reading CA cert file "{pair.cert}": expected 1 certificate, found {len(certs)}'
        )
    if not keys:
        raise CannotSign(f"{pair.key} holds no unencrypted private key")
    try:
        ca = read_certificate(certs[0])
        key = load_der_private_key(keys[0], password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CannotSign(f"{pair.cert} and {pair.key} are no authority: {error}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise CannotSign(f"{pair.key} cannot sign; use an EC or RSA key")
    if key.public_key() != ca.public_key():
        raise CannotSign(f"{pair.key} is not the key of {pair.cert}")
    return ca, key


def _digest(key: EllipticCurvePrivateKey | RSAPrivateKey) -> SHA256 | SHA384 | SHA512:
    """What Go signs with: as long as the curve."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size > 256:
        return hashes.SHA384() if key.key_size <= 384 else hashes.SHA512()
    return hashes.SHA256()


def ends(certificate: bytes) -> dt.datetime | None:
    """When the first certificate of a PEM text ends, None if it cannot be read.  Blocking."""
    chain = certificates(certificate)
    if not chain:
        return None
    try:
        return read_certificate(chain[0]).not_valid_after_utc
    except ValueError:
        return None
