"""What is wrong with a certificate and its key, in the words of Go's TLS library.

kube-apiserver warns of TLS secrets with them.  ``cryptography`` is imported when there is something
to parse: its import is a good part of a start.

Source: Go's documentation of ``tls.X509KeyPair`` and ``x509.ParseCertificate``; RFC 5280, 5915 and
8017 for what the parts are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubetrio.tls.certificates import read_certificate
from kubetrio.tls.pem import pem_blocks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

_UNKNOWN_KEY = "tls: unknown public key algorithm"
_MALFORMED = "x509: malformed certificate"
_CURVES = frozenset({"secp224r1", "secp256r1", "secp384r1", "secp521r1"})
_INTEGER, _SEQUENCE, _VERSION = 0x02, 0x30, 0xA0
_PRIVATE = "PRIVATE KEY"


class _Malformed(Exception):
    """What cannot be read, as Go says it."""


def pair_problem(certificate: bytes, key: bytes) -> str:
    """What is wrong with a certificate and a key; empty for a pair.

    Args:
        certificate: certificates in PEM, of which the first one counts.
        key: its key in PEM.
    """
    try:
        cert_der = _certificate_block(certificate)
        key_der = _key_block(key)
        public = _public_key(cert_der)
        return _mismatch(public, _private_key(key_der))
    except _Malformed as error:
        return str(error)


def _certificate_block(text: bytes) -> bytes:
    blocks = list(pem_blocks(text))
    skipped = [block.kind for block in blocks if block.kind != "CERTIFICATE"]
    for block in blocks:
        if block.kind == "CERTIFICATE":
            return block.content
    if not skipped:
        raise _Malformed("tls: failed to find any PEM data in certificate input")
    if len(skipped) == 1 and skipped[0].endswith(_PRIVATE):
        raise _Malformed(
            "tls: failed to find certificate PEM data in certificate input, but did find a private "
            "key; PEM inputs may have been switched"
        )
    raise _Malformed(
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM '
        f"blocks of the following types: [{' '.join(skipped)}]"
    )


def _key_block(text: bytes) -> bytes:
    skipped = []
    for block in pem_blocks(text):
        if block.kind == _PRIVATE or block.kind.endswith(f" {_PRIVATE}"):
            return block.content
        skipped.append(block.kind)
    if not skipped:
        raise _Malformed("tls: failed to find any PEM data in key input")
    if skipped == ["CERTIFICATE"]:
        raise _Malformed(
            "tls: found a certificate rather than a key in the PEM for the private key"
        )
    raise _Malformed(
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
        f"skipping PEM blocks of the following types: [{' '.join(skipped)}]"
    )


def _public_key(der: bytes) -> PublicKeyTypes | None:
    """The key of a certificate; None where it is of an unknown kind."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec

    trailing = _check_structure(der)
    try:
        public = read_certificate(der.removesuffix(trailing)).public_key()
    except UnsupportedAlgorithm:
        public = None
    except ValueError:
        raise _Malformed(_MALFORMED) from None
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name not in _CURVES:
        raise _Malformed("x509: unsupported elliptic curve")
    if trailing:
        raise _Malformed("x509: trailing data")
    return public


def _private_key(der: bytes) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        # The numbers of an RSA key are compared, not tested for being primes: that takes long.
        key = load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _Malformed("tls: failed to parse private key") from None
    if isinstance(key, x25519.X25519PrivateKey):
        raise _Malformed("tls: found unknown private key type in PKCS#8 wrapping")
    known = isinstance(key, rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) or (
        isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _CURVES
    )
    if not known:
        raise _Malformed("tls: failed to parse private key")
    return key


def _mismatch(public: PublicKeyTypes | None, private: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if not isinstance(
        public, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
    ):
        return _UNKNOWN_KEY
    other = private.public_key()
    if type(other) is not type(public):
        return "tls: private key type does not match public key type"
    return "" if other == public else "tls: private key does not match public key"


# --- structure ---


def _check_structure(der: bytes) -> bytes:
    """Check the parts of a certificate in the order in which Go reads them; what follows it.

    Raises:
        _Malformed: the first part that is not there or not what it must be.
    """
    outer, trailing = _read(der, _SEQUENCE, "certificate")
    body, rest = _read(outer, _SEQUENCE, "tbs certificate")
    if body[:1] == bytes((_VERSION,)):
        wrapped, body = _read(body, _VERSION, "version")
        version, _ = _read(wrapped, _INTEGER, "version")
        if version[:1] >= b"\x80":
            raise _Malformed("x509: malformed version")
        if int.from_bytes(version) > 2:
            raise _Malformed("x509: invalid version")
    serial, body = _read(body, _INTEGER, "serial number")
    if serial[:1] >= b"\x80":
        raise _Malformed("x509: negative serial number")
    algorithm, body = _read(body, _SEQUENCE, "signature algorithm identifier")
    signed, rest = _read(rest, _SEQUENCE, "algorithm identifier")
    if algorithm != signed:
        raise _Malformed("x509: inner and outer signature algorithm identifiers don't match")
    for name in ("issuer", "validity", "issuer", "spki"):
        _, body = _read(body, _SEQUENCE, name)
    return trailing


def _read(data: bytes, tag: int, what: str) -> tuple[bytes, bytes]:
    """The content of the DER element at the front, and what follows.

    Raises:
        _Malformed: there is none with this tag.
    """
    failure = _Malformed(f"x509: malformed {what}")
    if len(data) < 2 or data[0] != tag:
        raise failure
    length, start = data[1], 2
    if length >= 0x80:
        count = length & 0x7F
        start += count
        length = int.from_bytes(data[2:start])
        shortest = length >= 0x80 and data[2:3] != b"\0"
        if not 1 <= count <= 4 or len(data) < start or not shortest:
            raise failure
    if len(data) < start + length:
        raise failure
    return data[start : start + length], data[start + length :]
