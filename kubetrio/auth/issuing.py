"""Service account tokens: JSON web tokens signed with the cluster's service account key.

Source: RFC 7519 (JWT), RFC 7515 (JWS), RFC 7518 section 3 (ES256, RS256); docs "Managing Service
Accounts" (bound tokens); KEP-1205.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"
EXTENSION_S = 365 * 24 * 3600
WARN_AFTER_S = 3607
"""The life that kubelets ask for; such tokens live longer, and are warned about after this."""


def _text(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class TokenIssuer:
    """Signs tokens.

    Args:
        key_file: PEM file of the private key, ECDSA on P-256 or RSA; read at the first use.
        issuer: the ``iss`` claim, and the audience of tokens that name none.
    """

    def __init__(self, key_file: Path, issuer: str = DEFAULT_ISSUER) -> None:
        self.issuer = issuer
        self._key_file = key_file

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey | RSAPrivateKey:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key = load_pem_private_key(self._key_file.read_bytes(), password=None)
        if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            return key
        raise ValueError(f"{self._key_file}: neither an ECDSA nor an RSA key")

    @cached_property
    def key_id(self) -> str:
        """The ``kid`` header: a digest of the public key, as kube-apiserver makes it."""
        from cryptography.hazmat.primitives import serialization

        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _text(sha256(public).digest()).decode()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A compact JWS of claims.

        Args:
            claims: the payload.

        Raises:
            OSError: the key cannot be read.
            ValueError: the key is of another kind.
        """
        from cryptography.hazmat.primitives.asymmetric import ec

        algorithm = "ES256" if isinstance(self._key, ec.EllipticCurvePrivateKey) else "RS256"
        header = orjson.dumps({"alg": algorithm, "kid": self.key_id})
        signed = _text(header) + b"." + _text(orjson.dumps(dict(claims)))
        return (signed + b"." + _text(self._signature(signed))).decode()

    def _signature(self, signed: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            r, s = decode_dss_signature(self._key.sign(signed, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return self._key.sign(signed, padding.PKCS1v15(), hashes.SHA256())


def claims_of(
    account: Mapping[str, Any],
    *,
    issuer: str,
    audiences: list[str],
    now: int,
    life_s: int,
    warn_after_s: int,
    token_id: str,
    bound: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The claims of a bound token.

    Args:
        account: the ServiceAccount.
        issuer: the ``iss`` claim.
        audiences: who may take the token.
        now: seconds since the epoch.
        life_s: seconds until it expires.
        warn_after_s: seconds after which its use is warned about, 0 for never.
        token_id: the ``jti`` claim, a UUID.
        bound: objects the token ends with, by role (``pod``, ``secret``, ``node``): name and uid.
    """
    meta = account["metadata"]
    private: dict[str, Any] = {"namespace": meta["namespace"]}
    private.update(bound)
    private["serviceaccount"] = {"name": meta["name"], "uid": meta["uid"]}
    if warn_after_s:
        private["warnafter"] = now + warn_after_s
    return {
        "aud": audiences,
        "exp": now + life_s,
        "iat": now,
        "iss": issuer,
        "jti": token_id,
        "kubernetes.io": dict(sorted(private.items())),
        "nbf": now,
        "sub": f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
    }
