"""A webhook that knows tokens, over TLS: honest, failing, slow, lying, huge."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.tokenwebhook import MOST_ANSWER_BYTES, STEPS, WebhookTokens
from kubetrio.env import Env, seeded
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target

OWN = ("api",)
JANE = {"username": "jane", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v", "w"]}}


def review(status: object, version: str = "authentication.k8s.io/v1") -> bytes:
    return json.dumps({"kind": "TokenReview", "apiVersion": version, "status": status}).encode()


def webhook_of(peer: Any, outgoing: Outgoing, version: str = "v1") -> WebhookTokens:
    target = Target(url=f"{peer.url}/review", ca=peer.ca.encode())
    return WebhookTokens(target, version, OWN, outgoing, seeded(1))


async def refused(webhook: WebhookTokens) -> str:
    with pytest.raises(BadCredentials) as caught:
        await webhook.authenticate_token(b"secret", OWN)
    return str(caught.value)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_the_webhook_is_sent_a_review_and_names_the_user(
    version: str, peer: Any, outgoing: Outgoing
) -> None:
    """With token and audiences, in the version that was chosen."""
    sent: list[Any] = []

    def answer(head: bytes, body: bytes) -> Any:
        sent.append(json.loads(body))
        status = {"authenticated": True, "user": JANE}
        return 200, {}, review(status, f"authentication.k8s.io/{version}")

    peer.answers["/review"] = answer
    found = await webhook_of(peer, outgoing, version).authenticate_token(b"secret", OWN)
    assert found is not None
    user = found.user
    assert (user.name, user.uid, user.groups) == ("jane", "7", ("a", "b"))
    assert user.extra == {"k": ("v", "w")}
    assert found.audiences == OWN
    assert sent[0]["apiVersion"] == f"authentication.k8s.io/{version}"
    assert sent[0]["spec"] == {"token": "secret", "audiences": ["api"]}


@pytest.mark.parametrize(
    ("named", "asked", "good"),
    [
        (["api", "x"], ("api",), ("api",)),
        (["x"], ("api",), None),
        (None, ("api",), ("api",)),
        (None, ("other",), None),
        (["b", "a"], ("a", "b", "c"), ("a", "b")),
    ],
)
async def test_audiences_have_to_meet(
    named: Any, asked: tuple[str, ...], good: Any, peer: Any, outgoing: Outgoing
) -> None:
    """An answer that names none is for this server's own."""
    peer.say("/review", json.loads(review(
        {"authenticated": True, "user": JANE, "audiences": named}
    )))  # fmt: skip
    found = await webhook_of(peer, outgoing).authenticate_token(b"t", asked)
    assert (None if found is None else found.audiences) == good


@pytest.mark.parametrize(
    "status", [{}, None, {"authenticated": False, "user": JANE}, {"authenticated": "true"}, [], 5]
)
async def test_what_is_not_authenticated_is_nobody(
    status: Any, peer: Any, outgoing: Outgoing
) -> None:
    """Only ``true`` is yes, whatever user stands beside it."""
    peer.say("/review", review(status))
    assert await webhook_of(peer, outgoing).authenticate_token(b"t", OWN) is None


async def test_an_error_of_the_webhook_is_told(peer: Any, outgoing: Outgoing) -> None:
    """For TokenReview and the log."""
    peer.say("/review", review({"authenticated": False, "error": "who knows"}))
    assert await refused(webhook_of(peer, outgoing)) == "who knows"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"yes", b"[]", b"5", b"null", b"[" * 100_000,
        review({"authenticated": True}, "authentication.k8s.io/v2"),
        b'{"kind":"Status","apiVersion":"v1","status":"Success"}',
        review({"authenticated": True, "user": {"username": 5}}),
        review({"authenticated": True, "user": {"username": "a", "groups": "system:masters"}}),
        review({"authenticated": True, "user": {"username": "a", "groups": [5]}}),
        review({"authenticated": True, "user": {"username": "a", "extra": {"k": "v"}}}),
        review({"authenticated": True, "user": {"username": "a", "extra": ["k"]}}),
        review({"authenticated": True, "user": JANE, "audiences": "api"}),
        b" " * (MOST_ANSWER_BYTES + 1),
    ],
)  # fmt: skip
async def test_lies_and_noise_make_nobody(body: bytes, peer: Any, outgoing: Outgoing) -> None:
    """Malformed, huge, of other kinds and types: no user, and an error that says so."""
    peer.say("/review", body)
    assert await refused(webhook_of(peer, outgoing))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 502, 301])
async def test_refusals_are_not_tried_again(status: int, peer: Any, outgoing: Outgoing) -> None:
    """What will not change is asked once; redirects are none of an answer."""
    peer.say("/review", b"no", status, Location="/other")
    assert str(status) in await refused(webhook_of(peer, outgoing))
    assert peer.asked == ["/review"]


@pytest.mark.parametrize("status", [429, 500, 504])
async def test_what_may_pass_is_tried_again(
    status: int, peer: Any, outgoing: Outgoing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five times in all, then it is an error; one good answer is enough."""
    monkeypatch.setattr("kubetrio.auth.tokenwebhook.FIRST_DELAY_S", 0.001)
    peer.say("/review", b"busy", status)
    assert str(status) in await refused(webhook_of(peer, outgoing))
    assert len(peer.asked) == STEPS
    peer.asked.clear()

    def later(head: bytes, body: bytes) -> Any:
        if len(peer.asked) < 3:
            return status, {}, b""
        return 200, {}, review({"authenticated": True, "user": JANE})

    peer.answers["/review"] = later
    assert await webhook_of(peer, outgoing).authenticate_token(b"t", OWN)
    assert len(peer.asked) == 3


async def test_a_connection_that_breaks_is_tried_again(
    peer: Any, outgoing: Outgoing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that hangs up without an answer may do better the next time."""
    monkeypatch.setattr("kubetrio.auth.tokenwebhook.FIRST_DELAY_S", 0.001)
    tries: list[int] = []

    async def hang_up(stream: Any) -> None:
        tries.append(1)
        await stream.receive_some(65536)
        await stream.aclose()

    peer.raw = hang_up
    assert await refused(webhook_of(peer, outgoing))
    assert len(tries) == STEPS


async def test_a_webhook_that_never_answers_is_given_up(
    peer: Any, outgoing: Outgoing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is bounded, and a time-out is not tried again."""
    monkeypatch.setattr("kubetrio.auth.tokenwebhook.TIMEOUT_S", 0.05)

    async def hang(stream: Any) -> None:
        while await stream.receive_some(65536):
            pass

    peer.raw = hang
    with trio.fail_after(5):
        assert "deadline exceeded" in await refused(webhook_of(peer, outgoing))


async def test_a_webhook_of_another_authority_is_not_asked(peer: Any, outgoing: Outgoing) -> None:
    """Nobody between may answer in its place: no token is sent."""
    webhook = WebhookTokens(Target(url=f"{peer.url}/review"), "v1", OWN, outgoing, Env())
    assert "unknown authority" in await refused(webhook)
    assert peer.asked == []
