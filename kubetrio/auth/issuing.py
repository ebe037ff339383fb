"""Service account tokens: JSON web tokens signed with the cluster's service account key.

Source: RFC 7519 (JWT), RFC 7515 (JWS), RFC 7518 section 3 (ES256, ES384, ES512, RS256); docs
"Managing Service Accounts" (bound tokens); KEP-1205.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from kubetrio.auth.keys import algorithm_of, private_key, verifying_key

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

DEFAULT_ISSUER = "https://kubernetes.default.svc"
EXTENSION_S = 365 * 24 * 3600
WARN_AFTER_S = 3607
"""The life that kubelets ask for; such tokens live longer, and are warned about after this."""


class _Signing(NamedTuple):
    """A private key, and the header of what it signs."""

    key: ECKey | RSAKey
    header: dict[str, str]


class TokenIssuer:
    """Signs tokens.

    Args:
        key_file: PEM file of the private key, ECDSA on P-256, P-384 or P-521, or RSA; read at the
            first use.
        issuer: the ``iss`` claim, and the audience of tokens that name none.
    """

    def __init__(self, key_file: Path, issuer: str = DEFAULT_ISSUER) -> None:
        self.issuer = issuer
        self._key_file = key_file
        self._signing: _Signing | None = None

    def load(self) -> _Signing:
        """Read the key, unless that is done.

        Raises:
            OSError: the file cannot be read.
            KeyFileError: it has no key that can sign.
        """
        if self._signing is None:
            from cryptography.hazmat.primitives import serialization as form
            from joserfc.jwk import ECKey, RSAKey

            key = private_key(self._key_file.read_bytes())
            algorithm = algorithm_of(key)
            pem = key.private_bytes(
                form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
            )
            kind = ECKey if algorithm.startswith("ES") else RSAKey
            header = {"alg": algorithm, "kid": verifying_key(key.public_key()).id}
            self._signing = _Signing(kind.import_key(pem), header)
        return self._signing

    @property
    def key_id(self) -> str:
        """The ``kid`` header: a digest of the public key, as kube-apiserver makes it."""
        return self.load().header["kid"]

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A compact JWS of claims.

        Args:
            claims: the payload.

        Raises:
            OSError: the key cannot be read.
            KeyFileError: the key is of another kind.
        """
        from joserfc import jws

        key, header = self.load()
        payload = orjson.dumps(dict(claims))
        return jws.serialize_compact(dict(header), payload, key, [header["alg"]])


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
