"""Tokens of OpenID Connect issuers: which are believed."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from issuers import NOW, Start, claims_of, found, refused

from kubetrio.auth.jwtconfig import ClaimRule, ClaimSource
from kubetrio.auth.signed import ALGORITHMS, MOST_TOKEN_BYTES


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_each_asymmetric_algorithm_is_verified(
    algorithm: str, start: Start, peer: Any, make_signer: Any
) -> None:
    """A good token is a user, with what identifies the token."""
    signer = make_signer(algorithm)
    peer.say("/keys", {"keys": [signer.public()]})
    tokens = await start()
    user = await found(tokens, signer.sign(claims_of(peer, jti="7")))
    assert user is not None
    assert user.user.name == "p:jane"
    assert user.user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=7",)}
    assert user.expires == NOW + 60


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"exp": NOW - 1}, "token is expired"),
        ({"exp": None}, "strconv.ParseFloat"),
        ({"exp": "soon"}, "invalid number literal"),
        ({"exp": True}, "cannot unmarshal bool into Go struct field idToken.exp"),
        ({"nbf": NOW + 61}, "before the nbf (not before) time"),
        ({"aud": "other"}, 'expected audience "client" got ["other"]'),
        ({"aud": []}, 'expected audience "client" got []'),
        ({"aud": None}, 'expected audience "client" got []'),
        ({"aud": {"client": 1}}, "idToken.aud of type []string"),
        ({"sub": None, "name": "x"}, ""),
        ({"sub": 5}, "cannot unmarshal number into Go struct field idToken.sub of type string"),
        ({"sub": ["jane"]}, "cannot unmarshal array into Go struct field idToken.sub"),
    ],
)
async def test_claims_that_are_not_good_are_refused(
    changed: dict[str, Any], why: str, start: Start, peer: Any, signer: Any
) -> None:
    """Expired, not yet valid, of another audience, without a name: each with its reason."""
    tokens = await start()
    token = signer.sign(claims_of(peer, **changed))
    if why:
        assert why in await refused(tokens, token)
    else:  # as upstream: null is an empty text to Go
        got = await found(tokens, token)
        assert got is not None
        assert got.user.name == "p:"


async def test_a_minute_of_another_clock_is_forgiven(start: Start, peer: Any, signer: Any) -> None:
    """A token that begins within a minute is good."""
    assert await found(await start(), signer.sign(claims_of(peer, nbf=NOW + 60)))


async def test_a_missing_name_is_refused(start: Start, peer: Any, signer: Any) -> None:
    """Without the claim there is no user."""
    claims = claims_of(peer)
    del claims["sub"]
    assert "claim not present" in await refused(await start(), signer.sign(claims))


async def test_another_issuers_tokens_are_left_to_others(
    start: Start, peer: Any, signer: Any
) -> None:
    """Nothing is said of them, and nobody is asked."""
    tokens = await start()
    asked = len(peer.asked)
    for issuer in ("https://other", peer.url + "/", None, 5, peer.url.upper()):
        assert await found(tokens, signer.sign(claims_of(peer, iss=issuer))) is None
    assert len(peer.asked) == asked


def _swapped(token: bytes, at: int, part: bytes) -> bytes:
    parts = token.split(b".")
    parts[at] = part
    return b".".join(parts)


def _part(value: object) -> bytes:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")


async def test_tampered_tokens_are_refused(start: Start, peer: Any, signer: Any) -> None:
    """Another payload, header, signature, or none: no user."""
    tokens = await start()
    good = signer.sign(claims_of(peer))
    bad = [
        _swapped(good, 1, _part(claims_of(peer, sub="admin"))),
        _swapped(good, 0, _part({"alg": "ES256", "kid": "k1", "x": 1})),
        _swapped(good, 2, b""),
        _swapped(good, 2, b"A" * 86),
        _swapped(good, 2, good.split(b".")[2][:-2]),
        _swapped(good, 2, good.split(b".")[2] + b"AAAA"),
    ]
    for token in bad:
        assert "verify token" in await refused(tokens, token)
    assert await found(tokens, good)


async def test_no_signature_and_shared_secrets_are_no_algorithms(
    start: Start, peer: Any, signer: Any
) -> None:
    """``none`` in any spelling, and HMAC with the public key as its secret, are refused."""
    tokens = await start()
    secret = json.dumps(signer.public()).encode()
    for name in ("none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "EdDSA", "RS1"):
        message = _part({"alg": name, "kid": "k1"}) + b"." + _part(claims_of(peer))
        mac = hmac.digest(secret, message, "sha256")
        for signature in (b"", urlsafe_b64encode(mac).rstrip(b"=")):
            said = await refused(tokens, message + b"." + signature)
            assert "unsupported algorithm" in said


async def test_symmetric_keys_of_an_issuer_sign_nothing(
    start: Start, peer: Any, signer: Any
) -> None:
    """A key set with a shared secret does not make tokens with it good."""
    k = urlsafe_b64encode(b"secret" * 8).rstrip(b"=").decode()
    peer.say("/keys", {"keys": [{"kty": "oct", "k": k, "kid": "k1"}, signer.public()]})
    tokens = await start(algorithms=(*ALGORITHMS, "HS256"))
    message = _part({"alg": "HS256", "kid": "k1"}) + b"." + _part(claims_of(peer))
    mac = urlsafe_b64encode(hmac.digest(b"secret" * 8, message, "sha256")).rstrip(b"=")
    assert "failed to verify" in await refused(tokens, message + b"." + mac)


async def test_a_key_of_another_kind_than_the_algorithm_is_not_used(
    start: Start, peer: Any, make_signer: Any
) -> None:
    """An RSA key does not verify ES256, nor one curve the algorithm of another."""
    rsa, curve = make_signer("RS256"), make_signer("ES384")
    peer.say("/keys", {"keys": [rsa.public(), curve.public()]})
    tokens = await start()
    for key, name in ((rsa, "ES256"), (curve, "ES256"), (rsa, "PS256")):
        assert "failed to verify" in await refused(tokens, key.sign(claims_of(peer), alg=name))


async def test_only_the_chosen_algorithms_count(start: Start, peer: Any, signer: Any) -> None:
    """A good signature of an algorithm that is not in the list is refused."""
    said = await refused(await start(algorithms=("RS256",)), signer.sign(claims_of(peer)))
    assert 'unsupported algorithm, expected ["RS256"] got "ES256"' in said


async def test_a_token_with_an_own_key_is_not_believed(
    start: Start, peer: Any, make_signer: Any
) -> None:
    """Keys and addresses of keys in the header of a token are not looked at."""
    thief = make_signer()
    token = thief.sign(claims_of(peer), jwk=thief.public(), jku=f"{peer.url}/thief")
    tokens = await start()
    assert "failed to verify" in await refused(tokens, token)
    assert "/thief" not in peer.asked


async def test_critical_headers_that_nobody_knows_are_refused(
    start: Start, peer: Any, signer: Any
) -> None:
    """RFC 7515, 4.1.11."""
    token = signer.sign(claims_of(peer), crit=["exp"])
    assert "failed to verify" in await refused(await start(), token)


@pytest.mark.parametrize(
    "token",
    [
        b"", b".", b"..", b"a.b.c", b"a.b.c.d", b"." * 100_000, b"{}", b'{"payload":""}',
        b"\xff\xfe.\xff.\xff", b"e30.e30.", b"e30.bnVsbA.x", b"e30.W10.x",
        b"e30." + b"A" * (MOST_TOKEN_BYTES + 1) + b".x",
    ],
)  # fmt: skip
async def test_what_is_no_token_is_left_to_others(token: bytes, start: Start) -> None:
    """Malformed and huge texts are nobody's, at little cost."""
    assert await found(await start(), token) is None


async def test_deeply_nested_claims_are_left_to_others(start: Start, peer: Any) -> None:
    """A payload that nests beyond reason is no token."""
    payload = urlsafe_b64encode(b'{"iss":' + b"[" * 20_000).rstrip(b"=")
    assert await found(await start(), b"e30." + payload + b".x") is None
    deep = '{"a":' * 900 + "1" + "}" * 900
    payload = urlsafe_b64encode(f'{{"iss":"{peer.url}","a":{deep}}}'.encode()).rstrip(b"=")
    assert await found(await start(), b"e30." + payload + b".x") is None


async def test_a_required_claim_has_its_value(start: Start, peer: Any, signer: Any) -> None:
    """Missing, of another type or other: no user."""
    tokens = await start(claim_rules=(ClaimRule(claim="hd", required_value="example.com"),))
    assert await found(tokens, signer.sign(claims_of(peer, hd="example.com")))
    for more, why in (
        ({}, "required claim hd not present in ID token"),
        ({"hd": "other"}, "value does not match. Got = other, want = example.com"),
        ({"hd": ["example.com"]}, "parse claim hd"),
    ):
        assert why in await refused(tokens, signer.sign(claims_of(peer, **more)))


async def test_an_address_that_is_not_verified_is_nobodys(
    start: Start, peer: Any, signer: Any
) -> None:
    """``email_verified``, where there is one, has to be true."""
    tokens = await start(username=ClaimSource(claim="email", prefix=""))
    mail = {"email": "jane@example.com"}
    for more in ({}, {"email_verified": True}):
        assert await found(tokens, signer.sign(claims_of(peer, **mail, **more)))
    for value in (False, None, "true", 1):
        said = await refused(tokens, signer.sign(claims_of(peer, **mail, email_verified=value)))
        assert "email" in said


async def test_groups_are_a_text_or_texts(start: Start, peer: Any, signer: Any) -> None:
    """Each with the prefix; something else is refused."""
    tokens = await start(groups=ClaimSource(claim="roles", prefix="g:"))
    for value, groups in (("a", ("g:a",)), (["a", "b"], ("g:a", "g:b")), ([], ())):
        got = await found(tokens, signer.sign(claims_of(peer, roles=value)))
        assert got is not None
        assert got.user.groups == groups
    for value in (5, [5], {"a": "b"}, [["a"]], True):
        assert "parse groups claim" in await refused(
            tokens, signer.sign(claims_of(peer, roles=value))
        )


class TestDistributedClaims:
    """Groups that a token says are elsewhere."""

    GROUPS = ClaimSource(claim="groups", prefix="")

    def token(self, peer: Any, signer: Any, **source: Any) -> bytes:
        place = {"endpoint": f"{peer.url}/groups", "access_token": "secret", **source}
        more = {"_claim_names": {"groups": "src"}, "_claim_sources": {"src": place}}
        return bytes(signer.sign(claims_of(peer, **more)))

    async def test_they_are_fetched_with_the_token_for_them(
        self, start: Start, peer: Any, signer: Any
    ) -> None:
        """What the endpoint answers is verified as any token of the issuer."""
        peer.say("/groups", signer.sign(claims_of(peer, groups=["a", "b"])))
        tokens = await start(groups=self.GROUPS)
        got = await found(tokens, self.token(peer, signer))
        assert got is not None
        assert got.user.groups == ("a", "b")
        head = peer.heads[peer.asked.index("/groups")]
        assert b"authorization: bearer secret" in head.lower()

    async def test_what_is_not_signed_is_not_believed(
        self, start: Start, peer: Any, signer: Any, make_signer: Any
    ) -> None:
        """Nor what is for others, late, of other issuers, malformed, or a refusal."""
        tokens = await start(groups=self.GROUPS)
        for said in (
            make_signer().sign(claims_of(peer, groups=["a"])),
            signer.sign(claims_of(peer, groups=["a"], aud="other")),
            signer.sign(claims_of(peer, groups=["a"], exp=NOW - 1)),
            signer.sign(claims_of(peer)),
            signer.sign(claims_of(peer, groups=["a"], iss="https://127.0.0.1:1")),
            b"no token",
        ):
            peer.say("/groups", said)
            text = await refused(tokens, self.token(peer, signer))
            assert "could not expand distributed claims" in text
        peer.say("/groups", b"", 500)
        assert "500" in await refused(tokens, self.token(peer, signer))

    async def test_a_token_that_has_them_asks_nobody(
        self, start: Start, peer: Any, signer: Any
    ) -> None:
        """A claim of the token itself goes before."""
        tokens = await start(groups=self.GROUPS)
        names = {"_claim_names": {"groups": "src"}}
        got = await found(tokens, signer.sign(claims_of(peer, groups="a", **names)))
        assert got is not None
        assert "/groups" not in peer.asked

    async def test_malformed_places_are_refused(self, start: Start, peer: Any, signer: Any) -> None:
        """Whatever stands where an endpoint should be."""
        tokens = await start(groups=self.GROUPS)
        for names, sources in (
            (5, {}), ({"groups": 5}, {}), ({"groups": "src"}, {}), ({"groups": "src"}, []),
            ({"groups": "src"}, {"src": 5}), ({"groups": "src"}, {"src": {"endpoint": 5}}),
            ({"groups": "src"}, {"src": {"endpoint": "http://127.0.0.1/"}}),
            ({"groups": "src"}, {"src": {"endpoint": "file:///etc/passwd"}}),
            ({"groups": "src"}, {"src": {"endpoint": "https://x", "access_token": "a\r\nb: c"}}),
        ):  # fmt: skip
            more = {"_claim_names": names, "_claim_sources": sources}
            text = await refused(tokens, signer.sign(claims_of(peer, **more)))
            assert "could not expand distributed claims" in text
