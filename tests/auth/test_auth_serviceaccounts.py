"""Tokens of service accounts: verified, bound, remembered."""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from accounttokens import (
    AUDIENCES,
    ISSUER,
    KEYS,
    NOW,
    OLD_ISSUER,
    Legacy,
    Object,
    World,
    private_pem,
    public_pem,
)
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.auth import serviceaccounts
from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.boundobjects import INVALID_SINCE, LAST_USED
from kubetrio.auth.claims import MOST_BYTES
from kubetrio.auth.serviceaccounts import AUTOMATIC_WARNING, EXTRA
from kubetrio.auth.tokens import Found

STRANGER = ec.generate_private_key(ec.SECP256R1())


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(token: str, index: int) -> Any:
    text = token.split(".")[index]
    return orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


@pytest.mark.parametrize("algorithm", list(KEYS))
async def test_a_token_is_its_account(world: World, algorithm: str) -> None:
    """Whatever key of the server signed it: name, uid, groups and the id of the token."""
    uid = await world.add("serviceaccounts", "a")
    token = world.sign(world.claims(uid), KEYS[algorithm])
    assert part(token, 0)["alg"] == algorithm
    for _ in range(2):
        found = await world.ask(token)
        assert found is not None
        assert found.user.name == "system:serviceaccount:ns:a"
        assert found.user.uid == uid
        assert found.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")
        assert found.user.extra == {EXTRA + "credential-id": ("JTI=tid",)}
        assert found.audiences == ("api",)
        assert found.expires == NOW + 3660
        assert not found.lasting
    assert world.method.remembered()[0] == 1


async def test_the_second_time_nothing_waits(world: World) -> None:
    """A token that is known costs no task switch: the answer is there at once."""
    token = world.sign(world.claims(await world.add("serviceaccounts", "a")))
    await world.ask(token)
    assert isinstance(world.method.authenticate_token(token.encode(), AUDIENCES), Found)


async def test_the_pod_and_its_node_are_told(world: World) -> None:
    """As extra attributes; the node of a pod is not looked for."""
    uid = await world.add("serviceaccounts", "a")
    pod = await world.add("pods", "p")
    bound = {"pod": {"name": "p", "uid": pod}, "node": {"name": "gone", "uid": "n"}}
    found = await world.ask(world.sign(world.claims(uid, bound)))
    assert found is not None
    assert found.user.extra == {
        EXTRA + "pod-name": ("p",),
        EXTRA + "pod-uid": (pod,),
        EXTRA + "credential-id": ("JTI=tid",),
        EXTRA + "node-name": ("gone",),
        EXTRA + "node-uid": ("n",),
    }


async def test_former_issuers_are_accepted(world: World) -> None:
    """So that an issuer can be replaced while its tokens are in use."""
    uid = await world.add("serviceaccounts", "a")
    assert await world.ask(world.sign(world.claims(uid, iss=OLD_ISSUER))) is not None


async def test_a_token_without_a_key_id_is_tried_with_all_keys(world: World) -> None:
    """One without ``kid`` may be of any of them."""
    from joserfc import jws
    from joserfc.jwk import ECKey

    uid = await world.add("serviceaccounts", "a")
    key = ECKey.import_key(private_pem(KEYS["ES384"]))
    payload = orjson.dumps(world.claims(uid))
    token = jws.serialize_compact({"alg": "ES384"}, payload, key, ["ES384"])
    assert await world.ask(token) is not None


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256", "PS384", "PS512"])
async def test_rsa_keys_sign_in_six_ways(world: World, algorithm: str) -> None:
    """Others may have signed with the same key; kube-apiserver takes these."""
    from joserfc import jws
    from joserfc.jwk import RSAKey

    uid = await world.add("serviceaccounts", "a")
    key = RSAKey.import_key(private_pem(KEYS["RS256"]))
    payload = orjson.dumps(world.claims(uid))
    token = jws.serialize_compact({"alg": algorithm}, payload, key, [algorithm])
    assert await world.ask(token) is not None


async def test_use_after_the_warning_time_is_noted(world: World) -> None:
    """In the audit log and in metrics; so is use before it, in metrics."""
    uid = await world.add("serviceaccounts", "a")
    claims = world.claims(uid)
    claims["kubernetes.io"]["warnafter"] = NOW + 10
    claims["exp"] = NOW + 10_000
    token = world.sign(claims)
    first = await world.ask(token)
    world.now += 100
    second = await world.ask(token)
    assert first is not None
    assert second is not None
    assert first.annotations == {}
    assert second.annotations == {
        "authentication.k8s.io/stale-token": (
            "subject: system:serviceaccount:ns:a, seconds after warning threshold: 90"
        )
    }
    assert counts(world)["serviceaccount_valid_tokens_total"] == 1
    assert counts(world)["serviceaccount_stale_tokens_total"] == 1


def counts(world: World) -> dict[str, float]:
    families = world.method.counts.families()
    return {sample.name: sample.value for family in families for sample in family.samples}


@pytest.mark.parametrize(
    ("claim", "good", "bad", "told"),
    [
        ("exp", NOW - 60, NOW - 61, "service account token has expired"),
        ("nbf", NOW + 60, NOW + 61, "service account token is not valid yet"),
        ("iat", NOW + 60, NOW + 61, "service account token is issued in the future"),
    ],
)
async def test_clocks_may_differ_by_a_minute(
    world: World, claim: str, good: int, bad: int, told: str
) -> None:
    """And not by a second more."""
    uid = await world.add("serviceaccounts", "a")
    assert await world.ask(world.sign(world.claims(uid, **{claim: good}))) is not None
    assert await world.refused(world.sign(world.claims(uid, **{claim: bad}))) == told


async def test_a_known_token_expires_too(world: World) -> None:
    """And is forgotten then."""
    token = world.sign(world.claims(await world.add("serviceaccounts", "a")))
    assert await world.ask(token) is not None
    world.now += 3661
    assert await world.refused(token) == "service account token has expired"
    assert world.method.remembered() == (0, 0)


async def test_a_token_is_for_its_audiences(world: World) -> None:
    """Also one that is known already."""
    uid = await world.add("serviceaccounts", "a")
    token = world.sign(world.claims(uid, aud=["other", "vault"]))
    for audiences, common in ((AUDIENCES, ("other",)), (("vault", "x"), ("vault",))):
        found = await world.ask(token, audiences)
        assert found is not None
        assert found.audiences == common
    assert await world.refused(token, audiences=("x", "y")) == (
        'token audiences ["other" "vault"] is invalid for the target audiences ["x" "y"]'
    )


async def test_a_token_without_audiences_is_for_this_server(world: World) -> None:
    """As those were that came before audiences; that is noted."""
    uid = await world.add("serviceaccounts", "a")
    token = world.sign(world.claims(uid, aud=...))
    found = await world.ask(token)
    assert found is not None
    assert found.audiences == AUDIENCES
    subject = "system:serviceaccount:ns:a"
    assert found.annotations == {"authentication.k8s.io/legacy-token": subject}
    assert counts(world)["serviceaccount_legacy_tokens_total"] == 1
    assert "is invalid for the target audiences" in await world.refused(token, audiences=("x",))


@pytest.mark.parametrize(
    "issuer", ["https://else.example", "", ISSUER + "/", ..., 5, None, [ISSUER]]
)
async def test_tokens_of_other_issuers_are_somebody_elses(world: World, issuer: Any) -> None:
    """The next method is asked about them, and nothing is verified."""
    uid = await world.add("serviceaccounts", "a")
    assert await world.ask(world.sign(world.claims(uid, iss=issuer))) is None


async def test_a_strangers_key_signs_nothing(world: World) -> None:
    """Neither under its own id, nor under that of one of the server's keys, nor under none."""
    uid = await world.add("serviceaccounts", "a")
    assert await world.refused(world.sign(world.claims(uid), STRANGER)) == (
        "invalid signature, no keys found"
    )
    good = part(world.sign(world.claims(uid)), 0)
    for header in (good, {"alg": "ES256"}, {**good, "jwk": {}, "x5c": ["x"], "jku": "https://x"}):
        assert "cryptographic primitive" in await world.refused(forged(world, uid, header))


def forged(world: World, uid: str, header: Object) -> str:
    """A token that a stranger's key has signed, under any header."""
    _, body, _ = world.sign(world.claims(uid)).split(".")
    signed = f"{b64(orjson.dumps(header))}.{body}"
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    r, s = decode_dss_signature(STRANGER.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


@pytest.mark.parametrize(
    "algorithm",
    ["none", "None", "NONE", "", "HS256", "HS512", "ES384", "EdDSA", 5, None, ["ES256"], ...],
)
async def test_the_key_says_which_algorithm_it_is_for(world: World, algorithm: Any) -> None:
    """No header can turn signatures off, make a public key a secret, or swap curves."""
    uid = await world.add("serviceaccounts", "a")
    good = world.sign(world.claims(uid))
    header = {**part(good, 0), "alg": algorithm}
    if algorithm is ...:
        del header["alg"]
    signed = f"{b64(orjson.dumps(header))}.{good.split('.')[1]}"
    pem = public_pem(KEYS["ES256"])
    for signature in (
        good.split(".")[2],
        b64(hmac.new(pem, signed.encode(), sha256).digest()),
        b64(hmac.new(pem.strip(), signed.encode(), sha256).digest()),
        "AA",
    ):
        await world.refused(f"{signed}.{signature}")
    await world.refused(f"{signed}.")


async def test_headers_that_change_how_to_read_are_refused(world: World) -> None:
    """What is critical and not known, a payload that is not encoded, a header with two names."""
    from joserfc import jws
    from joserfc.jwk import ECKey

    uid = await world.add("serviceaccounts", "a")
    key = ECKey.import_key(private_pem(KEYS["ES256"]))
    good = world.sign(world.claims(uid))
    kid = part(good, 0)["kid"]
    for more in ('"crit":["exp"],"exp":1', '"b64":false', f'"kid":"{kid}"', '"alg":"ES256"'):
        header = b64(f'{{"alg":"ES256","kid":"{kid}",{more}}}'.encode())
        _, body, signature = good.split(".")
        assert await world.refused(f"{header}.{body}.{signature}") == "invalid header"
    odd = jws.serialize_compact(
        {"alg": "ES256", "kid": kid, "typ": "JWT"}, orjson.dumps(world.claims(uid)), key, ["ES256"]
    )
    assert await world.ask(odd) is not None


@given(data=st.data())
def test_no_changed_byte_is_accepted(data: st.DataObject) -> None:
    """A token is good as it was made and in no other way."""
    import tempfile

    import trio

    async def run() -> None:
        with tempfile.TemporaryDirectory() as directory:
            world = World(Path(directory), [KEYS["ES256"]])
            good = world.sign(world.claims(await world.add("serviceaccounts", "a"))).encode()
            at = data.draw(st.integers(0, len(good) - 1))
            byte = data.draw(st.integers(0, 255).filter(lambda one: one != good[at]))
            changed = good[:at] + bytes([byte]) + good[at + 1 :]
            # Base64 leaves bits of the last character unused.
            head, body, signature = good.split(b".")
            ends = (len(head) - 1, len(head) + len(body), len(good) - 1)
            if at in ends and [_bytes(one) for one in changed.split(b".")] == [
                _bytes(one) for one in (head, body, signature)
            ]:
                return
            try:
                assert await world.ask(changed) is None
            except BadCredentials:
                pass
            assert world.method.remembered() == (0, 0)

    trio.run(run)


def _bytes(text: bytes) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except ValueError:
        return None


async def test_rotated_keys(tmp_path: Path) -> None:
    """What a key signed is good for as long as the key is among those that verify."""
    old, new = KEYS["RS256"], KEYS["ES256"]
    (tmp_path / "b").mkdir()
    both, without = World(tmp_path, [old, new]), World(tmp_path / "b", [new])
    for world in (both, without):
        uid = await world.add("serviceaccounts", "a")
    token = both.sign(both.claims(uid), old)
    assert await both.ask(token) is not None
    assert await without.refused(token) == "invalid signature, no keys found"


async def test_a_token_without_an_account_is_nobody(world: World) -> None:
    """Such as one that an OpenID provider with the same issuer and key made."""
    await world.add("serviceaccounts", "a")
    claims = world.claims("x")
    del claims["kubernetes.io"]
    assert await world.refused(world.sign(claims)) == "resource name may not be empty"


async def test_a_huge_token_is_verified_beside_the_loop(world: World) -> None:
    """It is good, and not remembered; one that no header could hold is not looked at."""
    uid = await world.add("serviceaccounts", "a")
    token = world.sign(world.claims(uid, aud=["api", "x" * 100_000]))
    assert await world.ask(token) is not None
    assert world.method.remembered() == (0, 0)
    endless = world.sign(world.claims(uid, aud=["api", "x" * MOST_BYTES]))
    assert await world.ask(endless) is None


async def test_what_is_remembered_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number and by bytes."""
    uid = await world.add("serviceaccounts", "a")
    tokens = [world.sign(world.claims(uid, jti=str(index))) for index in range(5)]
    monkeypatch.setattr(serviceaccounts, "MOST_TOKENS", 3)
    for token in tokens:
        await world.ask(token)
    assert world.method.remembered()[0] == 3
    monkeypatch.setattr(serviceaccounts, "MOST_TOKEN_BYTES", 2 * len(tokens[0]))
    await world.ask(tokens[0])
    count, size = world.method.remembered()
    assert count <= 2
    assert size <= 2 * len(tokens[0])


async def test_a_flood_of_wrong_tokens_leaves_nothing(world: World) -> None:
    """Neither tokens nor what objects say; one that is good stays known."""
    uid = await world.add("serviceaccounts", "a")
    good = world.sign(world.claims(uid))
    await world.ask(good)
    remembered = world.method.remembered(), world.method._objects.remembered()
    head, body, _ = good.split(".")
    for index in range(200):
        wrong = b64(index.to_bytes(64, "big"))
        await world.refused(f"{head}.{body}.{wrong}")
        assert await world.ask(f"{index}.{body}") is None
        missing = world.claims("u", {"pod": {"name": f"p{index}", "uid": "u"}})
        await world.refused(world.sign(missing, STRANGER))
    assert (world.method.remembered(), world.method._objects.remembered()) == remembered
    assert isinstance(world.method.authenticate_token(good.encode(), AUDIENCES), Found)


@pytest.fixture
def legacy(world: World) -> Legacy:
    return Legacy(world)


async def test_a_token_in_a_secret(world: World, legacy: Legacy) -> None:
    """It never expires, is noted, and its Secret is labelled with the day."""
    found = await world.ask(await legacy.make())
    assert found is not None
    assert found.user.name == "system:serviceaccount:ns:a"
    assert (found.user.extra, found.expires, found.warnings) == ({}, None, ())
    assert found.annotations == {
        "authentication.k8s.io/legacy-token": "system:serviceaccount:ns:a",
        "authentication.k8s.io/legacy-token-manual-secret": "s",
    }
    assert [one[3] for one in world.labelled] == ["2027-01-15"]
    assert counts(world)["serviceaccount_legacy_manual_token_uses_total"] == 1


async def test_one_that_a_controller_made_is_warned_about(world: World, legacy: Legacy) -> None:
    """The account names the Secret then."""
    found = await world.ask(await legacy.make(secrets=[{"name": "s"}]))
    assert found is not None
    assert found.warnings == (AUTOMATIC_WARNING,)
    assert found.annotations["authentication.k8s.io/legacy-token-autogenerated-secret"] == "s"
    assert counts(world)["serviceaccount_legacy_auto_token_uses_total"] == 1


@pytest.mark.parametrize("day", ["2027-01-15", "2027-01-16"])
async def test_a_secret_is_labelled_once_a_day(world: World, legacy: Legacy, day: str) -> None:
    """Another server may be a day ahead."""
    await world.ask(await legacy.make({LAST_USED: day}))
    assert world.labelled == []
    world.now += 2 * 86_400
    await world.ask(legacy.token)
    assert [one[3] for one in world.labelled] == ["2027-01-17"]


async def test_a_label_that_cannot_be_written_is_no_refusal(world: World, legacy: Legacy) -> None:
    """The disk may be full; the token is as good as before."""

    async def fails(*_: str) -> None:
        raise OSError("no room")

    world.method._label_used = fails
    assert await world.ask(await legacy.make()) is not None


async def test_a_token_that_is_marked_as_invalid(world: World, legacy: Legacy) -> None:
    """It is refused with what to do, and its use is still noted."""
    told = await world.refused(await legacy.make({INVALID_SINCE: "2027-01-01"}))
    assert told.startswith("the token in secret ns/s for service account ns/a has been marked inv")
    assert len(world.labelled) == 1
    assert counts(world)["serviceaccount_invalid_legacy_auto_token_uses_total"] == 1


async def test_what_ends_a_token_in_a_secret(world: World, legacy: Legacy) -> None:
    """Its Secret going, at once; another token in it; its account going or being another one."""
    token = await legacy.make()
    other = world.sign(legacy.claims(legacy.uid, jti="other"))
    assert await world.refused(other) == "Token does not match server's copy"
    assert await world.ask(token) is not None
    await world.change("serviceaccounts", "a", {"deletionTimestamp": "2027-01-15T09:00:00Z"})
    assert await world.refused(token) == "ServiceAccount ns/a has been deleted"
    await world.remove("serviceaccounts", "a")
    assert await world.refused(token) == 'serviceaccounts "a" not found'
    await world.add("serviceaccounts", "a")
    assert "does not match claim" in await world.refused(token)
    await world.change("secrets", "s", {"deletionTimestamp": "2027-01-15T09:00:00Z"})
    assert await world.refused(token) == "Token has been invalidated"
    await world.remove("secrets", "s")
    assert await world.refused(token) == "Token has been invalidated"


async def test_without_lookup_only_the_signature_counts(tmp_path: Path) -> None:
    """That is what the flag says."""
    world = World(tmp_path, lookup=False)
    assert await world.ask(world.sign(Legacy(world).claims("u"))) is not None
    bound = world.sign(world.claims("u"))
    assert await world.refused(bound) == 'serviceaccounts "a" not found'
