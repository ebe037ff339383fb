"""Where operators are tried: one server in a process of its own, and a copy of it for each run.

The process is a copy of the program, so that an operator may be any function of it.
"""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, NoReturn

from kubetrio.harness.forking import ForkError, check_forkable, forked
from kubetrio.harness.inprocess import playing
from kubetrio.harness.opening import Harness, run
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.runs import Operator, Run, Terms, run_plan
from kubetrio.harness.player import prepared
from kubetrio.harness.script import Request
from kubetrio.harness.setup import Setup

LIMIT_S = 60.0
"""Seconds of the real clock that a run may take."""


class PrepareError(ValueError):
    """What is to be there before an operator starts cannot be made; one line."""


class Ground:
    """A server, and copies of it in which an operator runs; made by `open_ground`.

    Args:
        incoming: from its process.
        outgoing: to its process.
    """

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self.runs = 0

    def run(self, plan: Plan) -> Run:
        """Run the operator by a plan in a new copy; blocking.

        Raises:
            ForkError: the copy did not end in order, or not within `LIMIT_S` seconds.
        """
        self.runs += 1
        answer = self._ask(plan)
        if not isinstance(answer, Run):
            raise TypeError(answer)
        return answer

    def _ask(self, message: object) -> object:
        """Send a message and wait for what comes back.

        Raises:
            ForkError: the process has ended, or says what went wrong.
            PrepareError: what is to be there cannot be made.
        """
        try:
            pickle.dump(message, self._outgoing)
            self._outgoing.flush()
            answer: object = pickle.load(self._incoming)  # noqa: S301  (a copy of this process)
        except (OSError, EOFError) as error:
            raise ForkError("the server's process has ended") from error
        if isinstance(answer, ForkError | PrepareError):
            raise answer
        return answer


@contextmanager
def open_ground(
    operator: Operator,
    *,
    setup: Setup | None = None,
    before: Sequence[Request] = (),
    terms: Terms | None = None,
) -> Iterator[Ground]:
    """Start a server in a copy of this process for as long as the block lasts.

    Args:
        operator: that runs in copies of it.
        setup: how the server is made; in memory, of seed 0, when None.
        before: requests whose objects are to be there when the operator starts.
        terms: how runs are made.

    Raises:
        ForkError: this process cannot be copied, or the server does not start.
        PrepareError: a request of `before` is refused.
    """
    setup = setup or Setup()
    check_forkable(setup)
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(to_write)
        os.close(from_read)
        _work(operator, setup, before, terms or Terms(), to_read, from_write)
    os.close(to_read)
    os.close(from_write)
    with os.fdopen(from_read, "rb") as incoming, os.fdopen(to_write, "wb") as outgoing:
        ground = Ground(incoming, outgoing)
        try:
            ground._ask(None)  # noqa: SLF001  (its own)
            yield ground
        finally:
            with suppress(OSError):
                outgoing.close()  # which ends it
            os.waitpid(pid, 0)


# ------------------------------------------------------------------- in the process


def _work(
    operator: Operator,
    setup: Setup,
    before: Sequence[Request],
    terms: Terms,
    reading: int,
    writing: int,
) -> NoReturn:
    """Serve, and end the process."""
    gc.freeze()
    code = 1
    try:
        with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
            served = partial(_serve, operator, before, terms, incoming, outgoing)
            try:
                run(served, setup)
                code = 0
            except Exception as error:  # noqa: BLE001  (told to the program that waits)
                told = error if isinstance(error, ForkError | PrepareError) else None
                pickle.dump(told or ForkError(f"{type(error).__name__}: {error}"), outgoing)
    finally:
        os._exit(code)


async def _serve(
    operator: Operator,
    before: Sequence[Request],
    terms: Terms,
    incoming: IO[bytes],
    outgoing: IO[bytes],
    server: Harness,
) -> None:
    """Make what is to be there, and run plans until the program has enough."""
    refused = ""
    async with playing(server) as player:
        for request in before:
            reply = await player.request(prepared(request, _no_answer))
            if reply.status >= 300 and not refused:
                text = reply.body.decode(errors="replace")
                refused = f"{request.method} {request.path}: {reply.status} {text}"
    if refused:
        raise PrepareError(refused)
    await server.settled()
    pickle.load(incoming)  # noqa: S301  (a copy of this process)
    pickle.dump(True, outgoing)
    outgoing.flush()
    while True:
        try:
            plan: Plan = pickle.load(incoming)  # noqa: S301
        except EOFError:
            return
        answer: Run | ForkError
        try:
            await server.settled()
            did = partial(run_plan, server, operator, plan, terms)
            answer = await forked(server.setup, did, limit_s=LIMIT_S)
        except ForkError as error:
            answer = error
        pickle.dump(answer, outgoing)
        outgoing.flush()


def _no_answer(number: int) -> object:
    raise LookupError(number)
