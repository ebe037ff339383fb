"""Asking the authorizers of a server, which may have to wait for their answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

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
