"""A webhook that decides: what it is sent, and what comes of each sort of answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.auth.settings.counts import Counts
from kubetrio.auth.webhook import authorizer as webhooks
from kubetrio.auth.webhook.authorizer import MOST_CHARACTERS, Webhook, WebhookAuthorizer
from kubetrio.auth.webhook.conditions import Conditions, compiled
from kubetrio.auth.webhook.remembered import MOST_ANSWERS, Remembered
from kubetrio.auth.webhook.review import Status, WebhookFailed, body_of, spec_of, status_of
from kubetrio.cel.engine import available
from kubetrio.env import Env
from kubetrio.machinery.identity import (
    Attributes,
    Decision,
    Narrowing,
    SelectorRequirement,
    UserInfo,
    Verdict,
)
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.testing.reviewhook import Object, Said, review, webhook
from kubetrio.tls import pki

ALICE = UserInfo("alice", "7", ("devs",), {"k": ("v",)})
ASKED = Attributes(user=ALICE, verb="list", namespace="x", api_version="v1", resource="pods")
CLASS = "Go value of type struct { APIVersion string "
STRUCT = CLASS + '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SCHEME = 'in scheme "k8s.io/client-go/kubernetes/scheme/register.go:82"'


def test_what_is_sent() -> None:
    """Members without a value are left out, selectors are requirements."""
    selected = Attributes(
        user=ALICE, verb="list", api_group="apps", resource="deployments",
        narrowing=Narrowing(
            (SelectorRequirement("metadata.name", "In", ("a",)),),
            (SelectorRequirement("b", "Exists"),),
        ),
    )  # fmt: skip
    who = {"user": "alice", "uid": "7", "groups": ["devs"], "extra": {"k": ["v"]}}
    assert spec_of(selected) == {
        **who,
        "resourceAttributes": {
            "verb": "list", "group": "apps", "resource": "deployments",
            "fieldSelector": {
                "requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
            },
            "labelSelector": {"requirements": [{"key": "b", "operator": "Exists"}]},
        },
    }  # fmt: skip
    path = Attributes(user=ALICE, verb="get", path="/x", resource_request=False)
    assert spec_of(path) == {**who, "nonResourceAttributes": {"path": "/x", "verb": "get"}}


def test_groups_have_another_name_in_the_old_version() -> None:
    """As v1beta1 has it."""
    assert b'"group":["devs"]' in body_of(spec_of(ASKED), "v1beta1")
    assert b'"groups":["devs"]' in body_of(spec_of(ASKED), "v1")


@pytest.mark.parametrize(
    ("code", "body", "why"),
    [
        (200, "{bad", ("couldn't get version/kind; json parse error: invalid character 'b' looking "
         "for beginning of object key string")),
        (200, "", "0-length response with status code: 200 and content type: application/json"),
        (204, "", "0-length response with status code: 204 and content type: application/json"),
        (200, "[]", f"couldn't get version/kind; json parse error: json: cannot unmarshal array into {STRUCT}"),  # noqa: E501
        (200, '{"apiVersion":"authorization.k8s.io/v1","kind":"TokenReview"}',
         f'no kind "TokenReview" is registered for version "authorization.k8s.io/v1" {SCHEME}'),
        (200, '{"apiVersion":"authorization.k8s.io/v9","kind":"SubjectAccessReview"}',
         f'no kind "SubjectAccessReview" is registered for version "authorization.k8s.io/v9" {SCHEME}'),  # noqa: E501
        (200, '{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview"}',
         "converting (v1beta1.SubjectAccessReview) to (v1.SubjectAccessReview): unknown conversion"),  # noqa: E501
        (200, '{"apiVersion":"v1","kind":"Status"}',
         "converting (v1.Status) to (v1.SubjectAccessReview): unknown conversion"),
        (200, '{"status":{"allowed":"yes"}}', ("json: cannot unmarshal string into Go struct field "
         "SubjectAccessReviewStatus.status.allowed of type bool")),
        (401, "boom", "the server has asked for the client to provide credentials"),
        (403, "boom", "unknown"),
        (404, "boom", "the server could not find the requested resource"),
        (409, "boom", "the server reported a conflict"),
        (418, "boom", "the server responded with the status code 418 but did not return more information"),  # noqa: E501
        (302, "boom", "the server responded with the status code 302 but did not return more information"),  # noqa: E501
        (429, "boom", "the server has received too many requests and has asked us to try again later"),  # noqa: E501
        (500, "boom", 'an error on the server ("unknown") has prevented the request from succeeding'),  # noqa: E501
        (502, "boom", 'an error on the server ("unknown") has prevented the request from succeeding'),  # noqa: E501
        (503, "boom", "the server is currently unable to handle the request"),
        (403, '{"apiVersion":"v1","kind":"Status","message":"told"}', "told"),
    ],
)  # fmt: skip
def test_answers_that_are_none(code: int, body: str, why: str) -> None:
    """In the words of kube-apiserver, where an unlucky administrator looks for them."""
    with pytest.raises(WebhookFailed) as caught:
        status_of(code, body.encode(), "application/json", "v1")
    assert str(caught.value) == why


def test_answers_may_leave_much_out() -> None:
    """Kind and version, and the status; and may say more than is known."""
    assert status_of(200, b'{"status":{"allowed":true}}', "", "v1") == Status(allowed=True)
    assert status_of(200, b"null", "", "v1") == Status()
    assert status_of(200, b'{"foo":1,"status":{"allowed":true,"bar":2}}', "", "v1").allowed


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_remembered_answers_expire() -> None:
    """At once where they are not to be remembered."""
    clock = Clock()
    kept = Remembered(clock)
    kept.put(b"a", Status(allowed=True), 10.0)
    kept.put(b"b", Status(), 0.0)
    assert kept.get(b"b") is None
    clock.now = 9.9
    assert kept.get(b"a") == Status(allowed=True)
    clock.now = 10.0
    assert kept.get(b"a") is None
    assert (len(kept), kept.bytes) == (0, 0)


def test_remembered_answers_are_bounded() -> None:
    """In number, and in bytes where a webhook gives long reasons."""
    kept = Remembered(Clock())
    for number in range(MOST_ANSWERS + 10):
        kept.put(b"%d" % number, Status(), 10.0)
    assert len(kept) == MOST_ANSWERS
    assert kept.get(b"0") is None
    for number in range(100):
        kept.put(b"x%d" % number, Status(reason="y" * 500_000), 10.0)
    assert len(kept) < 30


@pytest.fixture
async def outgoing() -> AsyncIterator[Outgoing]:
    """A client that is closed at the end."""
    made = Outgoing(Env())
    yield made
    await made.close()


class Answers:
    """A webhook's behaviour, and what it was asked."""

    def __init__(self, *said: Said, hangs: bool = False) -> None:
        self._said = list(said)
        self._hangs = hangs
        self.asked: list[Object] = []

    async def __call__(self, body: Object) -> Said:
        self.asked.append(body)
        if self._hangs:
            await trio.sleep_forever()
        return self._said.pop(0) if len(self._said) > 1 else self._said[0]


def asking(url: str, made: pki.Pki, outgoing: Outgoing, **more: Any) -> WebhookAuthorizer:
    """An authorizer for a webhook."""
    how: dict[str, Any] = {
        "name": "w",
        "target": Target(url=url, ca=made.ca.cert.read_bytes()),
        "version": "v1",
        "timeout_s": 5.0,
        "authorized_s": 300.0,
        "unauthorized_s": 30.0,
        "on_error": Decision.NO_OPINION,
        **more,
    }
    return WebhookAuthorizer(Webhook(**how), outgoing, Env(), Counts("id"))


async def decided(answer: Verdict | Awaitable[Verdict]) -> Verdict:
    return answer if isinstance(answer, Verdict) else await answer


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


@pytest.mark.skipif(not available(), reason="needs the extra cel")
@pytest.mark.parametrize(
    ("expressions", "decision", "asked"),
    [
        (["request.user == 'alice'"], Decision.ALLOW, 1),
        (["request.user == 'bob'"], Decision.NO_OPINION, 0),
        (["request.nonResourceAttributes.path == '/'"], Decision.DENY, 0),
        (["request.nonResourceAttributes.path == '/'", "false"], Decision.NO_OPINION, 0),
        (["has(request.resourceAttributes)", "'devs' in request.groups"], Decision.ALLOW, 1),
        (["request.extra['k'][0] == 'v' && request.uid == '7'"], Decision.ALLOW, 1),
        (["request.resourceAttributes.subresource == ''"], Decision.ALLOW, 1),
        (["has(request.resourceAttributes.fieldSelector)"], Decision.NO_OPINION, 0),
    ],
)
async def test_conditions_say_which_questions_it_is_asked(
    expressions: list[str],
    decision: Decision,
    asked: int,
    certificates: pki.Pki,
    outgoing: Outgoing,
) -> None:
    """One that is false keeps a question from it; one that fails counts as the failure policy."""
    answers = Answers(review(allowed=True))
    conditions = Conditions([compiled(text) for text in expressions])
    async with webhook(certificates, answers) as url:
        one = asking(url, certificates, outgoing, conditions=conditions, on_error=Decision.DENY)
        verdict = await decided(one.authorize(ASKED))
    assert (verdict.decision, len(answers.asked)) == (decision, asked)


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
