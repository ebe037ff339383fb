"""Webhooks that decide: answers, retries and time limits."""

from __future__ import annotations

import pytest
from reviews import ALICE, ASKED, Answers, asking, decided
from trio.testing import MockClock

from kubetrio.auth.settings.counts import Counts
from kubetrio.auth.webhook import authorizer as webhooks
from kubetrio.auth.webhook.authorizer import MOST_CHARACTERS, Webhook, WebhookAuthorizer
from kubetrio.auth.webhook.review import spec_of
from kubetrio.env import Env
from kubetrio.machinery.identity import (
    Attributes,
    Decision,
    Verdict,
)
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.testing.reviewhook import Said, review, webhook
from kubetrio.tls import pki


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (review(allowed=True, reason="yes"), Verdict(Decision.ALLOW, "yes")),
        (review(denied=True, reason="no"), Verdict(Decision.DENY, "no")),
        (review(allowed=False, reason="dunno"), Verdict(Decision.NO_OPINION, "dunno")),
        (
            review(allowed=True, denied=True, reason="b"),
            Verdict(
                Decision.DENY,
                "b",
                "webhook subject access review returned both allow and deny response",
            ),
        ),
    ],
)
async def test_what_it_says_counts(
    said: Said, verdict: Verdict, certificates: pki.Pki, outgoing: Outgoing
) -> None:
    """And is remembered, so that the next answer does not wait."""
    answers = Answers(said)
    async with webhook(certificates, answers) as url:
        one = asking(url, certificates, outgoing)
        assert await decided(one.authorize(ASKED)) == verdict
        assert one.authorize(ASKED) == verdict
    assert len(answers.asked) == 1
    assert answers.asked[0]["spec"] == spec_of(ASKED)


@pytest.mark.parametrize("on_error", [Decision.NO_OPINION, Decision.DENY])
async def test_who_cannot_be_asked(
    on_error: Decision,
    certificates: pki.Pki,
    outgoing: Outgoing,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The failure policy counts, with the error; nothing of it is remembered."""
    monkeypatch.setattr(webhooks, "FIRST_WAIT_S", 0.0)
    answers = Answers((500, b"boom"))
    async with webhook(certificates, answers) as url:
        one = asking(url, certificates, outgoing, on_error=on_error)
        verdict = await decided(one.authorize(ASKED))
        assert (verdict.decision, verdict.reason) == (on_error, "")
        assert "has prevented the request from succeeding" in verdict.error
        assert len(answers.asked) == 5
        assert not len(one.remembered)


async def test_it_is_asked_again(
    certificates: pki.Pki, outgoing: Outgoing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After errors that pass."""
    monkeypatch.setattr(webhooks, "FIRST_WAIT_S", 0.0)
    answers = Answers((500, b""), (429, b""), review(allowed=True))
    async with webhook(certificates, answers) as url:
        verdict = await decided(asking(url, certificates, outgoing).authorize(ASKED))
    assert verdict.decision is Decision.ALLOW


async def test_bad_answers_are_not_asked_for_again(
    certificates: pki.Pki, outgoing: Outgoing
) -> None:
    """A webhook that lies once does so twice."""
    answers = Answers((200, b"<html>"))
    async with webhook(certificates, answers) as url:
        verdict = await decided(asking(url, certificates, outgoing).authorize(ASKED))
    assert (verdict.decision, len(answers.asked)) == (Decision.NO_OPINION, 1)


async def test_one_that_hangs_costs_its_time(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """And others do not wait for it."""
    answers = Answers(hangs=True)
    async with webhook(certificates, answers) as url:
        one = asking(url, certificates, outgoing, timeout_s=0.2, on_error=Decision.DENY)
        verdict = await decided(one.authorize(ASKED))
    assert verdict.decision is Decision.DENY
    assert "context deadline exceeded" in verdict.error


async def test_a_huge_answer_is_none(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """Its reason would be kept in memory and shown to clients."""
    answers = Answers(review(allowed=True, reason="x" * 2_000_000))
    async with webhook(certificates, answers) as url:
        verdict = await decided(asking(url, certificates, outgoing).authorize(ASKED))
    assert verdict.decision is Decision.NO_OPINION
    assert "larger than" in verdict.error


async def test_long_questions_are_not_remembered(certificates: pki.Pki, outgoing: Outgoing) -> None:
    """Nobody fills the memory with them."""
    long = Attributes(
        user=ALICE, verb="get", path="/" + "x" * MOST_CHARACTERS, resource_request=False
    )
    answers = Answers(review(allowed=True))
    async with webhook(certificates, answers) as url:
        one = asking(url, certificates, outgoing)
        await decided(one.authorize(long))
        await decided(one.authorize(long))
    assert len(answers.asked) == 2


async def test_nobody_there(outgoing: Outgoing, mock_clock: MockClock) -> None:
    """A closed port is told as Go tells it, and is not tried again."""
    del mock_clock
    webhook_ = Webhook(
        name="w", target=Target(url="http://127.0.0.1:1/x"), version="v1", timeout_s=5.0,
        authorized_s=1.0, unauthorized_s=1.0, on_error=Decision.NO_OPINION,
    )  # fmt: skip
    one = WebhookAuthorizer(webhook_, outgoing, Env(), Counts("id"))
    verdict = await decided(one.authorize(ASKED))
    assert verdict.error == (
        'Post "http://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
