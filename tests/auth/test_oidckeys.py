"""Discovery and keys of an OpenID Connect issuer."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from issuers import ENV, Start, claims_of, found, refused

from kubetrio.auth.background import Background
from kubetrio.auth.claimmapping import Compiled
from kubetrio.auth.jwtconfig import Issuer, JwtAuthenticator
from kubetrio.auth.oidc import OidcTokens
from kubetrio.auth.oidckeys import MOST_DOCUMENT_BYTES, REFRESH_BURST, WELL_KNOWN, Fetcher
from kubetrio.auth.signed import ALGORITHMS
from kubetrio.outgoing.client import Outgoing


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
