"""Tokens that a webhook knows: it is sent a TokenReview and answers with one.

Source: docs "Authenticating" (webhook token authentication);
k8s.io/apiserver/plugin/pkg/authenticator/token/webhook for audiences, retries and errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
import trio

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.tokens import Found
from kubetrio.env import Env
from kubetrio.machinery.identity import UserInfo
from kubetrio.observe.logs import Log
from kubetrio.outgoing.client import AnswerTooLarge, CallError, CallTimedOut
from kubetrio.outgoing.target import Target

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kubetrio.outgoing.client import Answer, Outgoing

log = Log("kubetrio.auth.webhook")
GROUP = "authentication.k8s.io"
VERSIONS = ("v1", "v1beta1")
TIMEOUT_S = 30.0
MOST_ANSWER_BYTES = 1024 * 1024
STEPS, FIRST_DELAY_S, FACTOR, JITTER = 5, 0.5, 1.5, 0.2
RETRIED = frozenset({429, 500, 504})


class _Retry(Exception):
    """It may work later; the text says why it did not now."""


class WebhookTokens:
    """Asks a webhook about tokens.

    Args:
        target: where it is.
        version: of TokenReview, ``v1`` or ``v1beta1``.
        own_audiences: of this server's API, for an answer that names none.
        outgoing: the server's client.
        env: randomness.
    """

    name = "webhook"

    def __init__(
        self,
        target: Target,
        version: str,
        own_audiences: tuple[str, ...],
        outgoing: Outgoing,
        env: Env,
    ) -> None:
        self._target = target
        self._version = f"{GROUP}/{version}"
        self._own_audiences = own_audiences
        self._outgoing = outgoing
        self._env = env

    def authenticate_token(
        self, token: bytes, audiences: tuple[str, ...]
    ) -> Awaitable[Found | None]:
        """Whose token it is; see `TokenAuthenticator`."""
        return self._authenticated(token, audiences)

    async def _authenticated(self, token: bytes, audiences: tuple[str, ...]) -> Found | None:
        review = {
            "kind": "TokenReview",
            "apiVersion": self._version,
            "metadata": {},
            "spec": {"token": token.decode(errors="replace"), "audiences": list(audiences)},
            "status": {"user": {}},
        }
        try:
            status = await self._asked(orjson.dumps(review))
        except _Retry as error:
            log.warning("Failed to make webhook authenticator request", reason=str(error))
            raise BadCredentials(str(error)) from None
        got = _texts(status, "audiences") or self._own_audiences
        both = tuple(one for one in audiences if one in got)
        if not both:
            return None
        if status.get("authenticated") is not True:
            why = status.get("error")
            if isinstance(why, str) and why:
                raise BadCredentials(why)
            return None
        return Found(_user(status.get("user")), both)

    async def _asked(self, body: bytes) -> Mapping[str, Any]:
        """The status in the webhook's answer.

        Raises:
            _Retry: there is none, however often it was asked.
        """
        delay = FIRST_DELAY_S
        for step in range(STEPS):
            try:
                answer = await self._called(body)
            except _Retry:
                if step == STEPS - 1:
                    raise
            else:
                return _status(answer, self._version)
            await trio.sleep(delay * (1 + JITTER * self._env.rng.random()))
            delay *= FACTOR
        raise AssertionError("the last step raises")

    async def _called(self, body: bytes) -> Answer:
        try:
            answer = await self._outgoing.call(
                self._target,
                body=body,
                headers=(("Content-Type", "application/json"), ("Accept", "application/json")),
                timeout_s=TIMEOUT_S,
                most_bytes=MOST_ANSWER_BYTES,
            )
        except (CallTimedOut, AnswerTooLarge) as error:
            raise BadCredentials(str(error)) from None
        except CallError as error:
            if _was_reset(error):
                raise _Retry(str(error)) from None
            raise BadCredentials(str(error)) from None
        if answer.status in RETRIED or (answer.status >= 400 and "retry-after" in answer.headers):
            raise _Retry(_refusal(answer))
        if not 200 <= answer.status < 300:
            raise BadCredentials(_refusal(answer))
        return answer


def _was_reset(error: CallError) -> bool:
    """Whether the connection broke, which says nothing about the next one."""
    text = str(error)
    return text.endswith("EOF") or "reset" in text.lower()


def _refusal(answer: Answer) -> str:
    shown = answer.body[:200].decode(errors="replace")
    return f"the server answered {answer.status}: {shown}"


def _status(answer: Answer, version: str) -> Mapping[str, Any]:
    """The status of the TokenReview in an answer.

    Raises:
        BadCredentials: there is none.
    """
    try:
        value = orjson.loads(answer.body)
    except ValueError as error:
        raise BadCredentials(f"the webhook's answer is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadCredentials("the webhook's answer is no TokenReview")
    kind, api_version = value.get("kind", "TokenReview"), value.get("apiVersion", version)
    if kind != "TokenReview" or api_version != version:
        raise BadCredentials(
            f"the webhook answered with a {kind} of {api_version}, not a TokenReview of {version}"
        )
    status = value.get("status")
    return status if isinstance(status, dict) else {}


def _user(value: Any) -> UserInfo:
    """The user in an answer.

    Raises:
        BadCredentials: there is none.
    """
    if not isinstance(value, dict):
        value = {}
    name, uid, extra = value.get("username") or "", value.get("uid") or "", value.get("extra") or {}
    if not isinstance(name, str) or not isinstance(uid, str) or not isinstance(extra, dict):
        raise BadCredentials("the webhook's answer has a user of other types")
    return UserInfo(
        name,
        uid,
        _texts(value, "groups"),
        {key: _texts(extra, key) for key in extra},
    )


def _texts(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = value.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise BadCredentials(f"the webhook's answer has {name} that are no list of texts")
    return tuple(texts)
