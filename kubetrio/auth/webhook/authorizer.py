"""The Webhook authorizer: asks a server by SubjectAccessReviews and remembers what it said.

It waits without a lock, so a webhook that itself asks this server something holds no request up but
the request that it is asked about.

Source: docs "Webhook Mode", "Authorization" (AuthorizationConfiguration);
k8s.io/apiserver/plugin/pkg/authorizer/webhook.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

import orjson
import trio

from kubetrio.auth.authorize import NO_OPINION, Rules
from kubetrio.auth.webhook.remembered import Remembered
from kubetrio.auth.webhook.review import Status, WebhookFailed, body_of, spec_of, status_of
from kubetrio.env import Env
from kubetrio.gotext.durations import duration_text
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.outgoing.client import CallError, CallTimedOut, Outgoing
from kubetrio.outgoing.target import Target

if TYPE_CHECKING:
    from kubetrio.auth.webhook.conditions import Conditions

MOST_CHARACTERS = 10_000
"""Of a question that is remembered: long ones cannot fill the memory."""
MOST_ANSWER_BYTES = 1024 * 1024
TRIES = 5
FIRST_WAIT_S, FACTOR, JITTER = 0.5, 1.5, 0.2

_BOTH = "webhook subject access review returned both allow and deny response"
_NO_RULES = "webhook authorizer does not support user rule resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """How a webhook is asked.

    Args:
        name: of the authorizer.
        target: where it is.
        version: of the reviews.
        timeout_s: seconds for one try.
        authorized_s: seconds for which a yes is remembered.
        unauthorized_s: seconds for which anything else is.
        on_error: what counts when it cannot be asked.
        conditions: which questions it is asked.
    """

    name: str
    target: Target
    version: str
    timeout_s: float
    authorized_s: float
    unauthorized_s: float
    on_error: Decision
    conditions: Conditions | None = None


class Watching(Protocol):
    """Who counts what webhooks do."""

    def asked(self, name: str, result: str, seconds: float) -> None:
        """A webhook was asked."""
        ...

    def failed_open(self, name: str, result: str) -> None:
        """It could not be asked, and others decide."""
        ...

    def matched(self, name: str, seconds: float, *, failed: bool, excluded: bool) -> None:
        """Its conditions were evaluated."""
        ...


class WebhookAuthorizer:
    """Asks a webhook.

    Args:
        webhook: how.
        outgoing: calls it.
        env: clocks and randomness.
        watching: counts.
    """

    def __init__(self, webhook: Webhook, outgoing: Outgoing, env: Env, watching: Watching) -> None:
        self._webhook = webhook
        self._outgoing = outgoing
        self._env = env
        self._watching = watching
        clock: Callable[[], float] = trio.current_time
        self.remembered = Remembered(clock)

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """What the webhook says; at once where that is known."""
        webhook = self._webhook
        spec = spec_of(attributes)
        if webhook.conditions is not None:
            begun = trio.current_time()
            matched = webhook.conditions.match(spec)
            self._watching.matched(
                webhook.name,
                trio.current_time() - begun,
                failed=bool(matched.error),
                excluded=not matched.matches and not matched.error,
            )
            if matched.error:
                return Verdict(webhook.on_error, "", matched.error)
            if not matched.matches:
                return NO_OPINION
        key = sha256(orjson.dumps(spec)).digest()
        known = self.remembered.get(key)
        if known is not None:
            return _verdict(known)
        return self._ask(attributes, spec, key)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """None: a webhook cannot be asked for all that a user may do."""
        del user, namespace
        return Rules(incomplete=True, error=_NO_RULES)

    async def _ask(self, attributes: Attributes, spec: dict[str, object], key: bytes) -> Verdict:
        webhook = self._webhook
        body = body_of(spec, webhook.version)
        wait = FIRST_WAIT_S
        for left in reversed(range(TRIES)):
            begun = trio.current_time()
            result = "canceled"
            try:
                status = await self._once(body)
                result = "success"
            except CallTimedOut as error:
                result, why, again = "timeout", str(error), False
            except CallError as error:
                result, why = "error", str(error)
                again = "connection reset" in why
            except WebhookFailed as error:
                result = "timeout" if error.timed_out else "error"
                why, again = str(error), error.again
            finally:
                self._watching.asked(webhook.name, result, trio.current_time() - begun)
            if result == "success":
                if _short(attributes):
                    life = webhook.authorized_s if status.allowed else webhook.unauthorized_s
                    self.remembered.put(key, status, life)
                return _verdict(status)
            if not again or not left:
                break
            await trio.sleep(wait * (1.0 + JITTER * self._env.rng.random()))
            wait *= FACTOR
        if webhook.on_error is Decision.NO_OPINION:
            self._watching.failed_open(webhook.name, result)
        return Verdict(webhook.on_error, "", why)

    async def _once(self, body: bytes) -> Status:
        """Ask once.

        Raises:
            CallError: there is no answer.
            WebhookFailed: the answer is no review.
        """
        webhook = self._webhook
        headers = (("Content-Type", "application/json"), ("Accept", "application/json, */*"))
        answer = await self._outgoing.call(
            webhook.target,
            url=_with_timeout(webhook.target.url, webhook.timeout_s),
            body=body,
            headers=headers,
            timeout_s=webhook.timeout_s,
            most_bytes=MOST_ANSWER_BYTES,
        )
        kind = answer.headers.get("content-type", "")
        return status_of(answer.status, answer.body, kind, webhook.version)


def _with_timeout(url: str, seconds: float) -> str:
    """The URL with the time that there is, as client-go tells it."""
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}timeout={duration_text(seconds)}"


def _verdict(status: Status) -> Verdict:
    if status.denied:
        return Verdict(Decision.DENY, status.reason, _BOTH if status.allowed else "")
    if status.allowed:
        return Verdict(Decision.ALLOW, status.reason)
    return Verdict(Decision.NO_OPINION, status.reason)


def _short(attributes: Attributes) -> bool:
    """Whether what the sender chose of a question is short enough to be remembered."""
    chosen = (
        attributes.namespace, attributes.verb, attributes.api_group, attributes.api_version,
        attributes.resource, attributes.subresource, attributes.name, attributes.path,
    )  # fmt: skip
    return sum(len(text.encode("utf-8", "replace")) for text in chosen) < MOST_CHARACTERS
