"""Certificates and their keys, as Go's TLS library sees them."""

from __future__ import annotations

import base64
import datetime as dt
from functools import cache

import pytest
from checks.helpers import resource, warned
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from kubetrio.kinds.common.keypairs import pair_problem

Key = (
    rsa.RSAPrivateKey
    | ec.EllipticCurvePrivateKey
    | ed25519.Ed25519PrivateKey
    | x25519.X25519PrivateKey
)
_DIFFERENT = "tls: private key does not match public key"
_OTHER_TYPE = "tls: private key type does not match public key type"
_UNREADABLE = "tls: failed to parse private key"


@cache
def _key(name: str) -> Key:
    match name.rstrip("2"):
        case "rsa":
            return rsa.generate_private_key(65537, 2048)
        case "ed":
            return ed25519.Ed25519PrivateKey.generate()
        case "x":
            return x25519.X25519PrivateKey.generate()
        case "koblitz":
            return ec.generate_private_key(ec.SECP256K1())
        case _:
            return ec.generate_private_key(ec.SECP256R1())


@cache
def _der(name: str) -> bytes:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(_key(name).public_key())
        .serial_number(5)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=9))
    )
    signer = _key("ec")
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.DER)


def _pem(content: bytes, kind: str = "CERTIFICATE") -> bytes:
    lines = base64.encodebytes(content).decode()
    return f"-----BEGIN {kind}-----\n{lines}-----END {kind}-----\n".encode()


def _cert(name: str) -> bytes:
    return _pem(_der(name))


def _private(
    name: str,
    form: PrivateFormat = PrivateFormat.PKCS8,
    encryption: KeySerializationEncryption | None = None,
) -> bytes:
    return _key(name).private_bytes(Encoding.PEM, form, encryption or NoEncryption())


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        ("rsa", "rsa", ""),
        ("ec", "ec", ""),
        ("ed", "ed", ""),
        ("rsa", "rsa2", _DIFFERENT),
        ("ec", "ec2", _DIFFERENT),
        ("ed", "ed2", _DIFFERENT),
        ("rsa", "ec", _OTHER_TYPE),
        ("ec", "ed", _OTHER_TYPE),
        ("ed", "rsa", _OTHER_TYPE),
        ("ec", "koblitz", _UNREADABLE),
        ("ec", "x", "tls: found unknown private key type in PKCS#8 wrapping"),
        ("x", "ec", "tls: unknown public key algorithm"),
        ("koblitz", "koblitz", "x509: unsupported elliptic curve"),
        ("koblitz", "x", "x509: unsupported elliptic curve"),
    ],
)
def test_pairs(certificate: str, key: str, problem: str) -> None:
    assert pair_problem(_cert(certificate), _private(key)) == problem


def test_forms_of_keys() -> None:
    older = PrivateFormat.TraditionalOpenSSL
    assert pair_problem(_cert("rsa"), _private("rsa", older)) == ""
    assert pair_problem(_cert("ec"), _private("ec", older)) == ""
    secret = BestAvailableEncryption(b"x")
    assert pair_problem(_cert("ec"), _private("ec", encryption=secret)) == _UNREADABLE


def test_blocks_of_other_kinds() -> None:
    cert, key = _cert("ec"), _private("ec")
    assert pair_problem(key, cert) == (
        "tls: failed to find certificate PEM data in certificate input, but did find a private "
        "key; PEM inputs may have been switched"
    )
    assert pair_problem(key + _pem(b"x", "X"), cert) == (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM '
        "blocks of the following types: [PRIVATE KEY X]"
    )
    assert pair_problem(cert, cert) == (
        "tls: found a certificate rather than a key in the PEM for the private key"
    )
    assert pair_problem(cert, cert + cert) == (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
        "skipping PEM blocks of the following types: [CERTIFICATE CERTIFICATE]"
    )
    assert pair_problem(b"", b"") == "tls: failed to find any PEM data in certificate input"
    assert pair_problem(cert, b"") == "tls: failed to find any PEM data in key input"
    assert pair_problem(cert + key, cert + key) == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "certificate"),
        (b"\x30\x80", "certificate"),
        (b"\x30\x81\x01\x00", "certificate"),
        (b"\x30\x00", "tbs certificate"),
        (b"\x30\x02\x30\x00", "serial number"),
        (b"\x30\x07\x30\x05\xa0\x03\x02\x01\x85", "version"),
        (b"\x30\x05\x30\x03\x02\x01\x01", "signature algorithm identifier"),
        (b"\x30\x07\x30\x05\x02\x01\x01\x30\x00", "algorithm identifier"),
        (b"\x30\x09\x30\x05\x02\x01\x01\x30\x00\x30\x00", "issuer"),
    ],
)
def test_parts_of_a_certificate(content: bytes, problem: str) -> None:
    assert pair_problem(_pem(content), _private("ec")) == f"x509: malformed {problem}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x30\x07\x30\x05\xa0\x03\x02\x01\x03", "x509: invalid version"),
        (b"\x30\x05\x30\x03\x02\x01\xff", "x509: negative serial number"),
        (
            b"\x30\x0b\x30\x05\x02\x01\x01\x30\x00\x30\x02\x05\x00",
            "x509: inner and outer signature algorithm identifiers don't match",
        ),
    ],
)
def test_values_of_a_certificate(content: bytes, problem: str) -> None:
    assert pair_problem(_pem(content), _private("ec")) == problem


def test_a_certificate_ends_where_it_says() -> None:
    assert pair_problem(_pem(_der("ec") + b"x"), _private("ec")) == "x509: trailing data"
    cut = _der("ec")[:-1]
    assert pair_problem(_pem(cut), _private("ec")) == "x509: malformed certificate"


def test_a_secret_whose_pair_does_not_match_is_warned_of() -> None:
    def texts(key: str) -> list[str]:
        files = {"tls.crt": _cert("ec"), "tls.key": _private(key)}
        data = {name: base64.b64encode(text).decode() for name, text in files.items()}
        return warned(resource("secrets"), {"type": "kubernetes.io/tls", "data": data})

    assert texts("ec") == []
    assert texts("ec2") == [_DIFFERENT]
