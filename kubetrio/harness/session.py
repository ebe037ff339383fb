"""Scripts done: recorded step by step, and replayed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from kubetrio.faults import Rule
from kubetrio.harness.inprocess import playing
from kubetrio.harness.opening import Harness, open_harness, run
from kubetrio.harness.player import Player, Stream, UnsendableError, prepared
from kubetrio.harness.references import UnresolvedError
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import (
    Inject,
    Move,
    Request,
    Restart,
    Script,
    Settle,
    Step,
    Watch,
)
from kubetrio.harness.setup import Setup
from kubetrio.runtime.groups import ungrouped


class Session:
    """Does steps, one after the other, and remembers them with what was answered.

    Args:
        player: the server that they are done with.
        setup: how the server is made, for the script.
    """

    def __init__(self, player: Player, setup: Setup) -> None:
        self._player = player
        self._setup = setup
        self._steps: list[Step] = []
        self._streams: dict[int, Stream] = {}

    @property
    def script(self) -> Script:
        """What was done until now; of watches, what they have been told until now."""
        steps = [
            replace(step, answer=self._streams[at].reply()) if at in self._streams else step
            for at, step in enumerate(self._steps)
        ]
        return Script(setup=self._setup, steps=tuple(steps))

    async def finished(self) -> Script:
        """What was done, when watches have been told of all there is."""
        # They are told of the last writes in tasks of their own.
        await self._player.settle()
        return self.script

    async def do(self, step: Step) -> Reply:
        """Do a step and return what was answered; of a watch, how it began.

        A step whose references lead nowhere is not sent, and its answer says so.

        Args:
            step: which; an answer that it has is replaced.
        """
        try:
            reply = await self._done(step)
        except UnresolvedError as error:
            reply = Reply(error=f"not sent: {error} leads nowhere")
        except UnsendableError as error:
            reply = Reply(error=f"not sent: {error}")
        told = reply if isinstance(step, Request | Watch) or reply.error else None
        self._steps.append(replace(step, answer=told))
        return reply

    async def _done(self, step: Step) -> Reply:
        match step:
            case Request():
                return await self._player.request(prepared(step, self._answer))
            case Watch():
                stream = await self._player.watch(prepared(step, self._answer))
                self._streams[len(self._steps)] = stream
                return stream.reply()
            case Move():
                return Reply(error=await self._player.move(step.seconds))
            case Inject():
                return Reply(error=await self._player.inject(step.rule))
            case Settle():
                return Reply(error=await self._player.settle())
            case Restart():
                return Reply(error=await self._player.restart())

    def _answer(self, number: int) -> Any:
        if not 0 < number <= len(self._steps):
            raise LookupError(number)
        stream, step = self._streams.get(number - 1), self._steps[number - 1]
        reply = step.answer if stream is None else stream.reply()
        if reply is None:
            raise LookupError(number)
        return reply.json()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        user: str = "",
        groups: Sequence[str] = (),
    ) -> Reply:
        """Send a request; see `Request`.

        Args:
            method: HTTP method.
            path: path and query.
            body: a JSON value; None for none.
            headers: further headers.
            user: who asks; the administrator when empty.
            groups: of that user.
        """
        return await self.do(
            Request(
                method=method,
                path=path,
                body=body,
                headers=headers or {},
                user=user,
                groups=tuple(groups),
            )
        )

    async def watch(self, path: str, *, user: str = "") -> Reply:
        """Open a watch that stays open until the end; see `Watch`.

        Args:
            path: path and query.
            user: who asks; the administrator when empty.
        """
        return await self.do(Watch(path=path, user=user))

    async def move(self, *, seconds: float) -> None:
        """Move the clock ahead.

        Args:
            seconds: how far.
        """
        await self.do(Move(seconds=seconds))

    async def inject(self, rule: Rule | None) -> None:
        """Put a rule of faults in force; None ends all."""
        await self.do(Inject(rule=rule))

    async def settle(self) -> None:
        """Wait until the controllers are at rest and watches have been told of all there is."""
        await self.do(Settle())

    async def restart(self) -> None:
        """Stop the server in order and start it again."""
        await self.do(Restart())


@ungrouped
@asynccontextmanager
async def record(server: Harness) -> AsyncIterator[Session]:
    """Record steps done with a server; the session's `script` has them.

    Args:
        server: that is asked.
    """
    async with playing(server) as player:
        yield Session(player, server.setup)


async def perform(script: Script, player: Player) -> Script:
    """Do all steps of a script, and return it with what is answered now.

    Args:
        script: whose steps are done; answers that it has are not looked at.
        player: the server that they are done with.
    """
    session = Session(player, script.setup)
    for step in script.steps:
        await session.do(step)
    return await session.finished()


async def replay(script: Script) -> Script:
    """Replay a script on a new server in memory; return it with what is answered now.

    For a run on a mock clock; `replayed` makes one.

    Args:
        script: which.

    Raises:
        SetupError: a flag of its setup cannot be used.
        StartError: a file that a flag names cannot be used.
    """
    async with open_harness(script.setup) as server, playing(server) as player:
        return await perform(script, player)


def replayed(script: Script) -> Script:
    """Replay a script on a new server in a run of its own, on a mock clock.

    Args:
        script: which.

    Raises:
        SetupError: a flag of its setup cannot be used.
        StartError: a file that a flag names cannot be used.
    """

    async def main(server: Harness) -> Script:
        async with playing(server) as player:
            return await perform(script, player)

    return run(main, script.setup)
