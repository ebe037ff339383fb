"""Keys of service account tokens: read from PEM files, chosen by their id, shown as a key set.

Source: RFC 7517 (JWK), RFC 7518 sections 3 and 6; client-go's ``keyutil`` for what a file may
hold; docs "Configure Service Accounts for Pods" (issuer discovery).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kubetrio.tls.pem import pem_blocks, private_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

    Private = EllipticCurvePrivateKey | RSAPrivateKey
    Public = EllipticCurvePublicKey | RSAPublicKey

CURVES: Mapping[str, tuple[str, str]] = {
    "secp256r1": ("ES256", "P-256"),
    "secp384r1": ("ES384", "P-384"),
    "secp521r1": ("ES512", "P-521"),
}
"""Curves by the name that the library has for them: algorithm and name in a JWK."""

RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
"""What an RSA key may have signed with; the first is what it does sign with."""


class KeyFileError(ValueError):
    """A file holds no key that can be used; one line for the terminal."""


def base64url(data: bytes) -> str:
    """Base64url without padding, as JWS writes it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class VerifyingKey(NamedTuple):
    """A public key.

    Args:
        id: the ``kid`` of what it signed: a digest of the key, as kube-apiserver makes it.
        algorithms: those it may have signed with, and no other.
        pem: the key.
        jwk: what a key set says of it.
    """

    id: str
    algorithms: tuple[str, ...]
    pem: bytes
    jwk: Mapping[str, str]


def verifying_key(key: Public) -> VerifyingKey:
    """A public key and all that is said of it.

    Raises:
        KeyFileError: it is on a curve that no algorithm of JWS is for.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    der = key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    pem = key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    name = base64url(sha256(der).digest())
    shown = {"use": "sig"}
    if isinstance(key, ec.EllipticCurvePublicKey):
        algorithm, curve = _curve(key.curve.name)
        point, size = key.public_numbers(), (key.key_size + 7) // 8
        shown.update(kty="EC", kid=name, crv=curve, alg=algorithm)
        shown.update(x=_number(point.x, size), y=_number(point.y, size))
        return VerifyingKey(name, (algorithm,), pem, shown)
    numbers = key.public_numbers()
    shown.update(kty="RSA", kid=name, alg=RSA_ALGORITHMS[0])
    shown.update(n=_number(numbers.n), e=_number(numbers.e))
    return VerifyingKey(name, RSA_ALGORITHMS, pem, shown)


def algorithm_of(key: Private) -> str:
    """What a private key signs with.

    Raises:
        KeyFileError: it is on a curve that no algorithm of JWS is for.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    if isinstance(key, ec.EllipticCurvePrivateKey):
        return _curve(key.curve.name)[0]
    return RSA_ALGORITHMS[0]


def _curve(name: str) -> tuple[str, str]:
    if name not in CURVES:
        raise KeyFileError("unknown private key curve, must be 256, 384, or 521")
    return CURVES[name]


def _number(value: int, size: int = 0) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


# ---------------------------------------------------------------------- files


def _readers() -> tuple[Callable[[bytes], Any], ...]:
    """What a block is tried as, one after the other, as kube-apiserver does."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization as form

    return (
        lambda der: form.load_der_private_key(der, password=None).public_key(),
        form.load_der_public_key,
        lambda der: x509.load_der_x509_certificate(der).public_key(),
    )


def public_keys(data: bytes) -> list[VerifyingKey]:
    """The keys of a file: private or public ones, or those of certificates.

    Blocks that are none of these are passed over.

    Args:
        data: PEM.

    Raises:
        KeyFileError: there is none, or one on a curve that cannot be used.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    keys = []
    for block in pem_blocks(data):
        for read in _readers():
            try:
                key = read(block.content)
            except (ValueError, TypeError, UnsupportedAlgorithm):
                continue
            if isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
                keys.append(verifying_key(key))
            break
    if not keys:
        raise KeyFileError("data does not contain any valid RSA or ECDSA public keys")
    return keys


def private_key(data: bytes) -> Private:
    """The first private key of a file.

    Args:
        data: PEM.

    Raises:
        KeyFileError: there is none.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    for der in private_keys(data):
        try:
            key = load_der_private_key(der, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            return key
    raise KeyFileError("data does not contain a valid RSA or ECDSA private key")


class KeySet:
    """The keys that tokens of service accounts may be signed with; read once.

    Reading takes ``cryptography``, whose import is a good part of a start: who may wait for that
    has `load` called in a thread when `loaded` says that it is still to come.

    Args:
        files: PEM files, each with one key or more.  One that does not exist counts as empty when
            it is the server's own.
        own: whether the files are the server's own.
    """

    def __init__(self, files: Sequence[Path], *, own: bool = False) -> None:
        self._files = tuple(files)
        self._own = own
        self._keys: tuple[VerifyingKey, ...] = ()
        self._by_id: dict[str, tuple[VerifyingKey, ...]] = {}
        self.loaded = False

    def load(self) -> None:
        """Read the files, unless that is done.

        Raises:
            OSError: a file cannot be read.
            KeyFileError: it has no key.
        """
        if self.loaded:
            return
        keys: list[VerifyingKey] = []
        for file in self._files:
            if self._own and not file.exists():
                continue
            keys += public_keys(file.read_bytes())
        self._keys = tuple(keys)
        self._by_id = {one.id: tuple(other for other in keys if other.id == one.id) for one in keys}
        self.loaded = True

    def of(self, key_id: str) -> tuple[VerifyingKey, ...]:
        """The keys that a token names; all of them for one that names none."""
        return self._by_id.get(key_id, ()) if key_id else self._keys

    def jwks(self) -> dict[str, Any]:
        """The key set that others verify tokens with."""
        return {"keys": [dict(one.jwk) for one in self._keys]}

    def algorithms(self) -> list[str]:
        """What the keys sign with."""
        return sorted({one.jwk["alg"] for one in self._keys})
