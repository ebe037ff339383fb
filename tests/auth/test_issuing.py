"""Service account tokens are what RFC 7515 says, and anybody with the public key can check them."""

from __future__ import annotations

import base64
from pathlib import Path

import orjson
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from kubetrio.auth.issuing import TokenIssuer, claims_of


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_signatures(tmp_path: Path, algorithm: str) -> None:
    """The header names the key's algorithm, the signature covers header and claims."""
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    key = (
        ec.generate_private_key(ec.SECP256R1())
        if algorithm == "ES256"
        else rsa.generate_private_key(65537, 2048)
    )
    file = tmp_path / "sa.key"
    pem = serialization.PrivateFormat.PKCS8
    none = serialization.NoEncryption()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, none))
    token = TokenIssuer(file).sign({"sub": "x"})
    header, claims, signature = token.split(".")
    assert orjson.loads(decoded(header))["alg"] == algorithm
    assert orjson.loads(decoded(claims)) == {"sub": "x"}
    raw, signed = decoded(signature), f"{header}.{claims}".encode()
    public = key.public_key()
    if isinstance(public, ec.EllipticCurvePublicKey):
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
    else:
        public.verify(raw, signed, padding.PKCS1v15(), hashes.SHA256())


def test_claims() -> None:
    """The private claims name the account and what the token is bound to."""
    claims = claims_of(
        {"metadata": {"name": "a", "namespace": "n", "uid": "u"}},
        issuer="https://i",
        audiences=["https://i"],
        now=100,
        life_s=600,
        warn_after_s=0,
        token_id="t",
        bound={"pod": {"name": "p", "uid": "v"}},
    )
    assert claims["sub"] == "system:serviceaccount:n:a"
    assert (claims["exp"], claims["nbf"], claims["iat"]) == (700, 100, 100)
    assert claims["kubernetes.io"] == {
        "namespace": "n",
        "pod": {"name": "p", "uid": "v"},
        "serviceaccount": {"name": "a", "uid": "u"},
    }
