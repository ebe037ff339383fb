"""Webhooks that are asked."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import trio

from kubetrio.auth.settings.counts import Counts
from kubetrio.auth.webhook.authorizer import Webhook, WebhookAuthorizer
from kubetrio.env import Env
from kubetrio.machinery.identity import (
    Attributes,
    Decision,
    UserInfo,
    Verdict,
)
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.testing.reviewhook import Object, Said
from kubetrio.tls import pki

ALICE = UserInfo("alice", "7", ("devs",), {"k": ("v",)})


ASKED = Attributes(user=ALICE, verb="list", namespace="x", api_version="v1", resource="pods")


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
