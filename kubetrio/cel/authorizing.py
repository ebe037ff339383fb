"""``authorizer`` in expressions: a question is built up step by step and put to the server.

A step is an opaque value that holds the question so far as JSON.  The server's authorizer is set
for the time of one evaluation (`asking`); evaluations do not overlap: they never wait.  Where an
answer has to be waited for, the question is an error at first, and the evaluation is done again
when it is known.

Source: "Kubernetes authorizer library" in "Common Expression Language in Kubernetes"; KEP-3488.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import orjson

from kubetrio.cel.declarations import (
    AUTHORIZER,
    DECISION,
    GROUP_CHECK,
    PATH_CHECK,
    RESOURCE_CHECK,
)
from kubetrio.cel.messages import opaque
from kubetrio.cel.values import expect

Message = Any
Question = dict[str, Any]
"""``verb`` and ``path``, or ``group``, ``resource``, ``subresource``, ``namespace`` and ``name``;
``serviceAccount`` (namespace, name) where another than the user asks."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an authorizer says.

    Args:
        allowed: whether it may be done.
        reason: why.
        error: what went wrong; empty for nothing.
    """

    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[Question], Answer]


def _nobody(_: Question) -> Answer:
    raise ValueError("no authorizer is available")


_asked: ContextVar[Ask] = ContextVar("asked", default=_nobody)
"""The authorizer of the evaluation that is going on."""


def asking(ask: Ask | None, evaluate: Callable[[], Any]) -> Any:
    """Answer the questions of an evaluation.

    Args:
        ask: answers; None for no authorizer.
        evaluate: evaluates.
    """
    if ask is None:
        return evaluate()
    token = _asked.set(ask)
    try:
        return evaluate()
    finally:
        _asked.reset(token)


def _step(kind: str, question: Question) -> Message:
    return opaque(kind, orjson.dumps(question).decode())


def _so_far(message: Message, kind: str) -> Question:
    question: Question = orjson.loads(expect(message, kind))
    return question


def authorizer() -> Message:
    """The variable ``authorizer``."""
    return _step(AUTHORIZER, {})


def resource_check(question: Question) -> Message:
    """The variable ``authorizer.requestResource``.

    Args:
        question: all but the verb.
    """
    return _step(RESOURCE_CHECK, question)


def service_account(message: Message, namespace: str, name: str) -> Message:
    """Let a service account ask."""
    return _step(AUTHORIZER, {**_so_far(message, AUTHORIZER), "serviceAccount": [namespace, name]})


def path(message: Message, value: str) -> Message:
    """Ask about a path that is no resource."""
    if not value:
        raise ValueError("path must not be empty")
    return _step(PATH_CHECK, {**_so_far(message, AUTHORIZER), "path": value})


def group(message: Message, value: str) -> Message:
    """Ask about an API group."""
    return _step(GROUP_CHECK, {**_so_far(message, AUTHORIZER), "group": value})


def resource(message: Message, value: str) -> Message:
    """Ask about a resource of the group."""
    if not value:
        raise ValueError("resource must not be empty")
    return _step(RESOURCE_CHECK, {**_so_far(message, GROUP_CHECK), "resource": value})


def narrowed(member: str) -> Callable[[Message, str], Message]:
    """A function that says more about the resource."""

    def narrow(message: Message, value: str) -> Message:
        return _step(RESOURCE_CHECK, {**_so_far(message, RESOURCE_CHECK), member: value})

    return narrow


def check(message: Message, verb: str) -> Message:
    """Put the question."""
    kind = message.DESCRIPTOR.full_name
    if kind not in (PATH_CHECK, RESOURCE_CHECK):
        raise ValueError("no such overload")
    answer = _asked.get()({**_so_far(message, kind), "verb": verb})
    members = {"allowed": answer.allowed, "reason": answer.reason, "error": answer.error}
    return _step(DECISION, members)


def decision(member: str) -> Callable[[Message], Any]:
    """A function that takes something out of an answer."""
    return lambda message: _so_far(message, DECISION)[member]


def errored(message: Message) -> bool:
    """Whether the authorizer failed."""
    return bool(_so_far(message, DECISION)["error"])
