"""The audit log of one server: a policy, and the backends that events go to."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

import trio

from kubetrio.audit.backends import Backend
from kubetrio.audit.counting import Counting
from kubetrio.audit.events import AuditEvent
from kubetrio.audit.policy import About, Chosen, Policy
from kubetrio.observe.logs import Log

log = Log("kubetrio.audit")


class Auditor:
    """What requests give their events to.

    Args:
        policy: what is noted.
        backends: where it goes.
        counting: what is counted.
    """

    def __init__(self, policy: Policy, backends: Sequence[Backend], counting: Counting) -> None:
        self.policy = policy
        self.counting = counting
        self._backends = tuple(backends)
        self._one = self._backends[0] if len(self._backends) == 1 else None
        self._ended = trio.Event()

    def choose(self, user: str, groups: tuple[str, ...], about: About) -> Chosen:
        """What the policy says of a request, which is counted."""
        chosen = self.policy.choose(user, groups, about)
        self.counting.levels[chosen.level] += 1
        return chosen

    def take(self, event: AuditEvent) -> Awaitable[bool] | None:
        """Give an event to the backends; see `Backend.take`."""
        self.counting.events += 1
        if self._one is not None:
            return self._one.take(event)
        waits = [wait for one in self._backends if (wait := one.take(event)) is not None]
        return _all(waits) if waits else None

    async def run(self) -> None:
        """Run the backends until `close`, and what they still have to do then."""
        try:
            async with trio.open_nursery() as nursery:
                for backend in self._backends:
                    nursery.start_soon(backend.run)
        finally:
            self._ended.set()

    async def close(self, grace_s: float) -> None:
        """Write what waits, for so many seconds at most; later events are lost.

        Args:
            grace_s: seconds.
        """
        for backend in self._backends:
            backend.close()
        with trio.move_on_after(grace_s, shield=True) as scope:
            await self._ended.wait()
        if scope.cancelled_caught:
            log.warning("audit events were not written within the grace time of the shutdown")


async def _all(waits: Sequence[Awaitable[bool]]) -> bool:
    results = [await wait for wait in waits]
    return all(results)
