"""Tokens of an issuer over TLS: who is believed, and who is not."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.background import Background
from kubetrio.auth.claimmapping import Compiled
from kubetrio.auth.jwtconfig import ClaimRule, ClaimSource, Issuer, JwtAuthenticator
from kubetrio.auth.oidc import OidcTokens
from kubetrio.auth.oidckeys import MOST_DOCUMENT_BYTES, REFRESH_BURST, WELL_KNOWN, Fetcher
from kubetrio.auth.signed import ALGORITHMS, MOST_TOKEN_BYTES
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.outgoing.client import Outgoing

NOW = 1_800_000_000.0
ENV = Env(now=lambda: NOW)
Start = Callable[..., Awaitable[OidcTokens]]


@pytest.fixture
def signer(make_signer: Any) -> Any:
    """The issuer's key."""
    return make_signer()


@pytest.fixture
async def start(peer: Any, outgoing: Outgoing, signer: Any) -> AsyncIterator[Start]:
    """Makes the tokens of the peer known; it has been discovered unless it cannot be."""
    peer.say(WELL_KNOWN, {"issuer": peer.url, "jwks_uri": f"{peer.url}/keys"})
    peer.say("/keys", {"keys": [signer.public()]})
    background = Background()

    async def made(*, ready: bool = True, env: Env = ENV, **given: Any) -> OidcTokens:
        algorithms = given.pop("algorithms", ALGORITHMS)
        issuer = {"url": peer.url, "audiences": ("client",), **given.pop("issuer", {})}
        given.setdefault("username", ClaimSource(claim="sub", prefix="p:"))
        config = JwtAuthenticator(issuer=Issuer(**issuer), **given)
        fetcher = Fetcher(outgoing, peer.url, peer.ca)
        tokens = OidcTokens(config, Compiled(), algorithms, fetcher, env, background)
        nursery.start_soon(tokens.provider.discover)
        with trio.fail_after(5):
            while ready and not tokens.provider.jwks_url:
                await tokens.provider.changed.wait()
        return tokens

    async with trio.open_nursery() as nursery:
        nursery.start_soon(background.run)
        await trio.testing.wait_all_tasks_blocked()
        yield made
        nursery.cancel_scope.cancel()


async def found(tokens: OidcTokens, token: bytes) -> Found | None:
    claims = tokens.claims(token)
    return None if claims is None else await tokens.user_of(token, claims)


async def refused(tokens: OidcTokens, token: bytes) -> str:
    with pytest.raises(BadCredentials) as caught:
        await found(tokens, token)
    return str(caught.value)


def claims_of(peer: Any, **more: Any) -> dict[str, Any]:
    return {"iss": peer.url, "aud": "client", "sub": "jane", "exp": NOW + 60, **more}


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


async def test_nothing_is_good_before_discovery(start: Start, peer: Any, signer: Any) -> None:
    """Tokens of an issuer that never answered are refused, and the health says why."""
    peer.say(WELL_KNOWN, b"gone", 503)
    tokens = await start(ready=False)
    with trio.fail_after(5):
        await tokens.provider.changed.wait()
    assert await refused(tokens, signer.sign(claims_of(peer))) == (
        "oidc: authenticator not initialized"
    )
    assert "503: gone" in tokens.problem()


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"no json", "expected Content-Type"),
        (b"[]", "no object"),
        (b"{}", 'got ""'),
        (b'{"issuer":"https://other","jwks_uri":"https://other/keys"}', 'got "https://other"'),
        (b'{"issuer":5}', 'got ""'),
        (b"x" * (MOST_DOCUMENT_BYTES + 1), "larger than"),
        (b"[" * 100_000, "expected Content-Type"),
    ],
)
async def test_hostile_discovery_documents_are_no_issuer(
    document: bytes, why: str, start: Start, peer: Any
) -> None:
    """Malformed, huge, of another issuer: it is not used."""
    peer.say(WELL_KNOWN, document)
    tokens = await start(ready=False)
    with trio.fail_after(5):
        await tokens.provider.changed.wait()
    assert why in tokens.problem()


async def test_an_issuer_without_keys_is_not_used(start: Start, peer: Any) -> None:
    """The document has to say where the keys are."""
    peer.say(WELL_KNOWN, {"issuer": peer.url})
    tokens = await start(ready=False)
    with trio.fail_after(5):
        await tokens.provider.changed.wait()
    assert "did not return JWKS URL" in tokens.problem()


async def test_redirects_without_end_and_away_from_tls_are_not_followed(
    start: Start, peer: Any
) -> None:
    """A loop ends after as many as Go follows; plain HTTP is not asked."""
    for where, why in ((WELL_KNOWN, "stopped after 10 redirects"), ("http://x/", "only https")):
        peer.say(WELL_KNOWN, b"", 302, Location=where)
        tokens = await start(ready=False)
        with trio.fail_after(5):
            await tokens.provider.changed.wait()
        assert why in tokens.problem()


async def test_a_redirect_is_followed(start: Start, peer: Any, signer: Any) -> None:
    """As Go's client does."""
    peer.answers["/there"] = peer.answers[WELL_KNOWN]
    peer.say(WELL_KNOWN, b"", 307, Location="/there")
    assert await found(await start(), signer.sign(claims_of(peer)))


async def test_the_discovery_url_is_asked_in_place_of_the_usual_one(
    start: Start, peer: Any, signer: Any
) -> None:
    """The issuer in it is still that of the tokens."""
    peer.answers["/elsewhere"] = peer.answers.pop(WELL_KNOWN)
    tokens = await start(issuer={"discovery_url": f"{peer.url}/elsewhere"})
    assert await found(tokens, signer.sign(claims_of(peer)))
    assert WELL_KNOWN not in peer.asked


async def test_an_issuer_of_another_authority_is_not_believed(
    outgoing: Outgoing, peer: Any
) -> None:
    """Its certificate has to be of the authority that was named: here, one of the system's."""
    provider_error = ""
    tokens = OidcTokens(
        JwtAuthenticator(issuer=Issuer(url=peer.url, audiences=("client",))),
        Compiled(), ALGORITHMS, Fetcher(outgoing, peer.url, ""), ENV, Background(),
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tokens.provider.discover)
        with trio.fail_after(5):
            await tokens.provider.changed.wait()
        provider_error = tokens.problem()
        nursery.cancel_scope.cancel()
    assert "certificate signed by unknown authority" in provider_error


async def test_new_keys_are_fetched_when_a_token_needs_one(
    start: Start, peer: Any, signer: Any, make_signer: Any
) -> None:
    """An issuer that changes its key is believed at once; the key is then kept."""
    tokens = await start()
    await found(tokens, signer.sign(claims_of(peer)))
    later = make_signer(kid="k2")
    peer.say("/keys", {"keys": [signer.public(), later.public()]})
    asked = peer.asked.count("/keys")
    for _ in range(5):
        assert await found(tokens, later.sign(claims_of(peer)))
    assert peer.asked.count("/keys") == asked + 1


async def test_a_flood_of_wrong_tokens_does_not_reach_the_issuer(
    start: Start, peer: Any, make_signer: Any
) -> None:
    """However many come, the issuer is asked a few times."""
    tokens, thief = await start(), make_signer(kid="unknown")
    for number in range(200):
        await refused(tokens, thief.sign(claims_of(peer, n=number)))
    assert peer.asked.count("/keys") <= REFRESH_BURST + 1


async def test_many_at_once_ask_once(start: Start, peer: Any, signer: Any) -> None:
    """Requests that need keys at a time wait for one answer."""
    tokens = await start()
    token = signer.sign(claims_of(peer))
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(found, tokens, token)
    assert peer.asked.count("/keys") == 1


async def test_keys_that_the_issuer_says_are_new_are_not_asked_for_again(
    start: Start, peer: Any, signer: Any, make_signer: Any
) -> None:
    """``Cache-Control`` of a key set holds back the next one."""
    keys = {"keys": [signer.public()]}
    peer.say("/keys", keys, Cache_Control="public, max-age=3600")
    tokens = await start()
    await found(tokens, signer.sign(claims_of(peer)))
    for _ in range(3):
        await refused(tokens, make_signer().sign(claims_of(peer)))
    assert peer.asked.count("/keys") == 1


async def test_kept_keys_serve_through_an_outage(start: Start, peer: Any, signer: Any) -> None:
    """An issuer that is gone does not turn away tokens whose key is known."""
    tokens = await start()
    await found(tokens, signer.sign(claims_of(peer)))
    peer.answers.clear()
    assert await found(tokens, signer.sign(claims_of(peer, sub="joe")))
    assert "fetching keys" in await refused(tokens, signer.sign(claims_of(peer), kid="new"))


@pytest.mark.parametrize(
    "keys",
    [
        b"no json", b"[]", b'{"keys":5}', b'{"keys":[5]}', b'{"keys":[{}]}', b"{}",
        b'{"keys":[{"kty":"RSA","kid":"k1"}]}', b'{"keys":[{"kty":"RSA","n":"AQ","e":"AQ"}]}',
        b'{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"k1"}]}',
        b'{"keys":[{"kty":"EC","crv":"nope","x":5,"y":null,"kid":"k1"}]}',
        b'{"keys":[{"kty":"RSA","n":"' + b"A" * 500_000 + b'","e":"AQAB","kid":"k1"}]}',
        b"x" * (MOST_DOCUMENT_BYTES + 1),
    ],
)  # fmt: skip
async def test_hostile_key_sets_make_no_token_good(
    keys: bytes, start: Start, peer: Any, signer: Any
) -> None:
    """Malformed keys, huge keys, huge sets: the token is refused, nothing else happens."""
    peer.say("/keys", keys)
    assert "failed to verify signature" in await refused(
        await start(), signer.sign(claims_of(peer))
    )


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
