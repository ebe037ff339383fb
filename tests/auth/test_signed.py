"""A token is read before and after it is verified: both see the same, or it is refused."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.auth.claims import BadClaims, BadSignature, claims_from, issuer_of, verified
from kubetrio.auth.keys import KeySet, public_keys
from kubetrio.auth.signed import Malformed, claims_of, parse
from kubetrio.auth.signed import issuer_of as issuer_by_word


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeySet:
    path: Path = tmp_path_factory.mktemp("keys") / "sa.pub"
    public = key().public_key()
    path.write_bytes(public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    found = KeySet([path])
    found.load()
    assert public_keys(path.read_bytes())[0].id == found.of("")[0].id
    return found


def signed(header: bytes, body: bytes) -> bytes:
    message = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (header, body))
    numbers = decode_dss_signature(key().sign(message, ec.ECDSA(hashes.SHA256())))
    raw = b"".join(number.to_bytes(32, "big") for number in numbers)
    return message + b"." + urlsafe_b64encode(raw).rstrip(b"=")


TEXTS = st.sampled_from(['"a"', '"b"', '"\\u0061"', "null", "1", '["a","b"]', "1e3", "NaN"])
CLAIMS = st.sampled_from(['"iss"', '"\\u0069ss"', '"Iss"', '"aud"', '"exp"', '"kubernetes.io"'])
HEADS = st.sampled_from(['"alg"', '"\\u0061lg"', '"Alg"', '"kid"', '"crit"', '"typ"', '"b64"'])
ALGORITHMS = st.sampled_from(['"ES256"', '"none"', '"HS256"', '"RS256"', "null", '["ES256"]', '""'])


def objects(
    names: st.SearchStrategy[str], values: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(names, values).map(":".join), max_size=4)
    return members.map(lambda some: "{" + ", ".join(some) + "}")


@given(header=objects(HEADS, ALGORITHMS), body=objects(CLAIMS, TEXTS))
def test_whose_token_it_is_does_not_change_when_it_is_verified(
    keys: KeySet, header: str, body: str
) -> None:
    """Nor what it is signed with: a member that comes twice makes a service account's none."""
    token = signed(header.encode(), body.encode())
    issuer = issuer_of(token)
    try:
        claims = claims_from(verified(token, keys))
    except (BadClaims, BadSignature):
        return
    assert claims.issuer == (issuer or "")
    for text in (header, body):
        pairs = json.loads(text, object_pairs_hook=list)
        assert len({name for name, _ in pairs}) == len(pairs)
    assert json.loads(header)["alg"] == "ES256"


@given(header=objects(HEADS, ALGORITHMS), body=objects(CLAIMS, TEXTS))
def test_tokens_of_issuers_are_read_once(header: str, body: str) -> None:
    """Of members that come twice the last counts, as for Go, also for who looks before."""
    token = signed(header.encode(), body.encode())
    try:
        claims = claims_of(token)
        one = parse(token)
    except Malformed:
        return
    assert claims == json.loads(body)
    said = json.loads(header)
    assert issuer_by_word(claims) in (claims.get("iss"), "")
    assert one.algorithm in (said.get("alg"), "")
    assert one.kid in (said.get("kid"), "")
    assert one.understood == ("crit" not in said)
