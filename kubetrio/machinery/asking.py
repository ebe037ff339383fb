"""Asking the authorizers of a server, which may have to wait for their answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, NamedTuple

from kubetrio.machinery.identity import Attributes, Decision, Verdict

Authorize = Callable[[Attributes], "Verdict | Awaitable[Verdict]"]
"""What all authorizers together think of a request."""


async def verdict_of(authorize: Authorize, attributes: Attributes) -> Verdict:
    """What they think, when they know it."""
    verdict = authorize(attributes)
    return verdict if isinstance(verdict, Verdict) else await verdict


async def allowed(authorize: Authorize, attributes: Attributes) -> bool:
    """Whether they allow it."""
    return (await verdict_of(authorize, attributes)).decision is Decision.ALLOW


class Client(NamedTuple):
    """The client behind a write: what it was let in for, and the authorizer to ask for more.

    Args:
        authorize: the server's authorizers.
        attributes: makes the question that was put to them about the request.
    """

    authorize: Authorize
    attributes: Callable[[], Attributes]

    async def verdict(self, **other: Any) -> tuple[Attributes, Verdict]:
        """Ask about the request with other attributes.

        Args:
            other: members of `Attributes` that differ from those of the request.

        Returns:
            The question and the answer.
        """
        asked = replace(self.attributes(), **other)
        return asked, await verdict_of(self.authorize, asked)
