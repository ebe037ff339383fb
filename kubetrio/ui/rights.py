"""What a user may list, so that the page asks for nothing that is refused: ``/ui/refused``.

A browser notes each refused request as an error on its console, which is where people look for
mistakes of the page.  ``?namespace=NAME`` asks about a namespace, and without it about all; the
answer has the server's message of refusal by group and resource, such as ``apps/deployments``.

Kinds of aggregated API servers are not told of, for it is these that refuse.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import trio

from kubetrio.auth.authorize import forbidden
from kubetrio.machinery.identity import MASTERS, Attributes, Decision, UserInfo, Verdict
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import Registry

Authorize = Callable[[Attributes], Verdict | Awaitable[Verdict]]
BREATH = 16
"""Kinds that are asked about before others have a turn: about half a millisecond."""


@dataclass(frozen=True, slots=True)
class Lists:
    """What a user may list, asked once for each kind and namespace.

    Args:
        user: who.
        authorize: says it.

    Attributes:
        refused: kinds that the user was found not to be allowed to list.
    """

    user: UserInfo
    authorize: Authorize
    refused: set[str] = field(default_factory=set)
    _known: dict[tuple[int, str], str | None] = field(default_factory=dict)

    async def allows(self, kind: Kind, namespace: str) -> bool:
        """Whether the user may list a kind in a namespace; else it is noted."""
        return await self.refusal(kind, namespace) is None

    async def refusal(self, kind: Kind, namespace: str) -> str | None:
        """Why the user may not list a kind in a namespace; None where that is allowed."""
        if MASTERS in self.user.groups:
            return None
        key = id(kind), namespace
        if key not in self._known:
            asked = Attributes(
                user=self.user, verb="list", namespace=namespace, api_group=kind.group,
                api_version=kind.version, resource=kind.resource,
            )  # fmt: skip
            verdict = self.authorize(asked)
            if not isinstance(verdict, Verdict):
                verdict = await verdict
            allowed = verdict.decision is Decision.ALLOW
            self._known[key] = None if allowed else forbidden(asked, verdict.reason).message
        answer = self._known[key]
        if answer is not None:
            self.refused.add(str(kind.group_resource))
        return answer


async def refusals(registry: Registry, lists: Lists, namespace: str) -> dict[str, str]:
    """Return why kinds may not be listed, by group and resource; those that may be are left out.

    Args:
        registry: with the kinds.
        lists: of the user.
        namespace: in which, of kinds that have namespaces; empty for all.
    """
    refusal_of: dict[str, str] = {}
    for number, kind in enumerate(registry.preferred("list")):
        if number % BREATH == BREATH - 1:
            await trio.lowlevel.checkpoint()
        refusal = await lists.refusal(kind, namespace if kind.namespaced else "")
        if refusal is not None:
            refusal_of[f"{kind.group}/{kind.resource}"] = refusal
    return refusal_of
