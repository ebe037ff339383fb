"""Keys of service account tokens: which files have some, how they are shown and chosen."""

from __future__ import annotations

import base64
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from kubetrio.auth.issuing import TokenIssuer
from kubetrio.auth.keys import KeyFileError, KeySet, private_key, public_keys

NONE = form.NoEncryption()
PEM = form.Encoding.PEM
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())


def public(key: Any) -> bytes:
    return key.public_key().public_bytes(PEM, form.PublicFormat.SubjectPublicKeyInfo)


def certificate(key: Any) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sa")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    made = made.not_valid_before(start).not_valid_after(start + dt.timedelta(days=1))
    return made.public_key(key.public_key()).sign(key, hashes.SHA256()).public_bytes(PEM)


@pytest.mark.parametrize("key", [RSA, EC])
@pytest.mark.parametrize(
    "written",
    [
        public,
        certificate,
        lambda key: key.private_bytes(PEM, form.PrivateFormat.PKCS8, NONE),
        lambda key: key.private_bytes(PEM, form.PrivateFormat.TraditionalOpenSSL, NONE),
    ],
)
def test_every_form_of_a_key(key: Any, written: Any) -> None:
    """Public, private or in a certificate, also one that is over: the same key with the same id."""
    (found,) = public_keys(written(key))
    (plain,) = public_keys(public(key))
    assert found == plain


def test_a_file_may_hold_several() -> None:
    """In order; blocks that are no keys, and text between, are passed over."""
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    other = ed25519.Ed25519PrivateKey.generate()
    data = b"old\n" + parameters + public(RSA) + public(other) + b"# new\n" + public(EC)
    assert [one.jwk["kty"] for one in public_keys(data)] == ["RSA", "EC"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no pem",
        public(ed25519.Ed25519PrivateKey.generate()),
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\n" * 1000,
    ],
)
def test_files_without_keys(data: bytes) -> None:
    """One line that kube-apiserver has too."""
    with pytest.raises(KeyFileError, match="does not contain any valid RSA or ECDSA public keys"):
        public_keys(data)
    with pytest.raises(KeyFileError, match="does not contain a valid RSA or ECDSA private key"):
        private_key(data)


def test_a_curve_that_no_algorithm_is_for() -> None:
    """Neither for signing nor for verifying."""
    key = ec.generate_private_key(ec.SECP256K1())
    with pytest.raises(KeyFileError, match="must be 256, 384, or 521"):
        public_keys(public(key))


@pytest.mark.parametrize(
    ("key", "algorithm", "curve"),
    [
        (EC, "ES256", "P-256"),
        (ec.generate_private_key(ec.SECP384R1()), "ES384", "P-384"),
        (ec.generate_private_key(ec.SECP521R1()), "ES512", "P-521"),
    ],
)
def test_the_key_set_shows_elliptic_keys(key: Any, algorithm: str, curve: str) -> None:
    """Coordinates have the size of the curve, whatever they begin with."""
    (found,) = public_keys(public(key))
    size = (key.curve.key_size + 7) // 8
    assert list(found.jwk) == ["use", "kty", "kid", "crv", "alg", "x", "y"]
    assert (found.jwk["alg"], found.jwk["crv"]) == (algorithm, curve)
    for name in "xy":
        text = found.jwk[name]
        assert len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == size


def test_the_key_set_shows_rsa_keys() -> None:
    """Modulus and exponent, without leading zeros."""
    (found,) = public_keys(public(RSA))
    assert list(found.jwk) == ["use", "kty", "kid", "alg", "n", "e"]
    assert (found.jwk["alg"], found.jwk["e"]) == ("RS256", "AQAB")


def test_keys_of_several_files(tmp_path: Path) -> None:
    """Each by its id, all of them for a token that names none."""
    for name, key in (("a", RSA), ("b", EC)):
        (tmp_path / name).write_bytes(public(key))
    keys = KeySet([tmp_path / "a", tmp_path / "b"])
    keys.load()
    first, second = keys.of("")
    assert keys.of(first.id) == (first,)
    assert keys.of("unknown") == ()
    assert keys.jwks() == {"keys": [dict(first.jwk), dict(second.jwk)]}
    assert keys.algorithms() == ["ES256", "RS256"]


def test_the_servers_own_key_may_not_be_there(tmp_path: Path) -> None:
    """A server in memory has none; a file that was named has to be there."""
    own = KeySet([tmp_path / "sa.pub"], own=True)
    own.load()
    assert own.jwks() == {"keys": []}
    with pytest.raises(FileNotFoundError):
        KeySet([tmp_path / "sa.pub"]).load()


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_what_signs_and_what_verifies_agree(tmp_path: Path, curve: Any) -> None:
    """On the id of a key."""
    key = ec.generate_private_key(curve)
    file = tmp_path / "sa.key"
    file.write_bytes(key.private_bytes(PEM, form.PrivateFormat.PKCS8, NONE))
    assert TokenIssuer(file).key_id == public_keys(public(key))[0].id
