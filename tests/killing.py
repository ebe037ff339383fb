"""Controllers that are killed at one of their writes, and begin anew from what is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess

WRITERS = ("system:serviceaccount:kube-system:", "system:kube-scheduler", "system:node:")
"""Begin the names of users as which controllers write."""


class Killer(Base):
    """A plugin that has controllers killed at one of their writes, which is not stored then.

    Attributes:
        left: number of the write from now on; none where it is 0 or below.
        count: writes that were seen.
        kills: when controllers were killed, by Trio's clock.
    """

    name = "Killer"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self) -> None:
        self.left = 0
        self.count = 0
        self.kills: list[float] = []
        self.due = trio.Event()

    async def validate(self, attributes: Attributes) -> None:
        """Count a write, and let its writer go no further if it is the one."""
        if not attributes.user.name.startswith(WRITERS):
            return
        self.count += 1
        self.left -= 1
        if self.left == 0:
            self.kills.append(trio.current_time())
            self.due.set()
            await trio.sleep_forever()


@asynccontextmanager
async def restarting(server: InProcess, killer: Killer, *names: str) -> AsyncIterator[None]:
    """Run controllers while the block lasts, and others of the same names when they are killed.

    Args:
        server: that does nothing of its own accord.
        killer: a plugin of the server's admission.
        names: of the controllers.
    """

    async def run() -> None:
        while True:
            killer.due = trio.Event()
            async with running(server, *names):
                await killer.due.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield
        nursery.cancel_scope.cancel()
