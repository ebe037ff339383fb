"""Claims of tokens of service accounts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from accounttokens import (
    KEYS,
    NOW,
    Legacy,
    World,
    private_pem,
)
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.auth.claims import issuer_of


@given(st.binary(max_size=300) | st.from_regex(rb"[\w.-]{0,80}", fullmatch=True))
def test_whatever_is_sent_is_looked_at(token: bytes) -> None:
    """Nothing but a token of ours has an issuer."""
    issuer_of(token)


NUMBER = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"


AUDIENCE = "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"


TYPE = "json: cannot unmarshal {} into Go value of type {}"


TWICE = "json: duplicate key '{}' in object"


EXP = f'"exp":{NOW + 3600}'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"aud":', '"aud":["x"],"aud":', TWICE.format("aud")),
        ('"namespace":"ns"', '"namespace":"ns","namespace":"x"', TWICE.format("namespace")),
        ('"exp":', '"exp":1,"exp":', TWICE.format("exp")),
        (EXP, '"exp":"never"', NUMBER),
        (EXP, '"exp":true', NUMBER),
        (EXP, '"exp":1e300', NUMBER),
        (EXP, '"exp":999999999999999999', NUMBER),
        ('"aud":["api"]', '"aud":["api",5]', AUDIENCE),
        ('"aud":["api"]', '"aud":null', AUDIENCE),
        ('"sub":"', '"sub":5,"x":"', TYPE.format("number", "string")),
        ('"name":"a"', '"name":["a"]', TYPE.format("array", "string")),
        (
            '"kubernetes.io":{',
            '"kubernetes.io":[],"x":{',
            TYPE.format("array", "serviceaccount.kubernetes"),
        ),
    ],
)
async def test_claims_that_are_not_what_they_should_be(
    world: World, old: str, new: str, told: str
) -> None:
    """A signature is no reason to guess: twice the same, or of another type, is refused."""
    from joserfc import jws
    from joserfc.jwk import ECKey

    uid = await world.add("serviceaccounts", "a")
    text = json.dumps(world.claims(uid), separators=(",", ":"))
    changed = text.replace(old, new)
    assert changed != text
    key = ECKey.import_key(private_pem(KEYS["ES256"]))
    token = jws.serialize_compact({"alg": "ES256"}, changed.encode(), key, ["ES256"])
    assert await world.refused(token) == told
    assert world.method.remembered() == (0, 0)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({"secret.name": ""}, "secretName claim is missing"),
        ({"service-account.name": ""}, "serviceAccountName claim is missing"),
        ({"service-account.uid": ""}, "serviceAccountUID claim is missing"),
        ({"sub": "system:serviceaccount:ns:b"}, "sub claim is invalid"),
        ({"sub": "admin"}, "sub claim is invalid"),
        (
            {"service-account.name": "A:b", "sub": "system:serviceaccount:ns:A:b"},
            "sub claim is invalid",
        ),
    ],
)
async def test_claims_of_tokens_in_secrets(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    """All are needed, and they agree with each other; also where nothing is looked up."""
    world = World(tmp_path, lookup=False)
    claims = Legacy(world).claims("u", **changed)
    assert await world.refused(world.sign(claims)) == told
