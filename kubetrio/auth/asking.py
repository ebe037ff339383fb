"""Asking authorizers, of whom some answer at once and others later."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from kubetrio.machinery.identity import Attributes, Verdict


class Asked(Protocol):
    """Whoever decides."""

    def authorize(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        """What it thinks of a request."""
        ...


async def verdict_of(asked: Asked, attributes: Attributes) -> Verdict:
    """The answer to a question, waited for where it has to be.

    Args:
        asked: who decides.
        attributes: the question.
    """
    answer = asked.authorize(attributes)
    return answer if isinstance(answer, Verdict) else await answer
