"""Conditions that say which questions a webhook is asked."""

from __future__ import annotations

import pytest
from reviews import ASKED, Answers, asking, decided

from kubetrio.auth.webhook.conditions import Conditions, compiled
from kubetrio.cel.engine import available
from kubetrio.machinery.identity import (
    Decision,
)
from kubetrio.outgoing.client import Outgoing
from kubetrio.testing.reviewhook import review, webhook
from kubetrio.tls import pki


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
