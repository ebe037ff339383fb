"""Processes in which operators are tried, several at a time: copies of the program.

They are given pickles of `Trial` by a pipe and answer with those of `Attempt`, in order; the end of
the pipe ends them, and SIGTERM does at once.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import IO, NamedTuple, NoReturn

import trio

from kubetrio.env import running_threads
from kubetrio.harness.operators.ground import PrepareError
from kubetrio.harness.operators.outside.attempt import attempts
from kubetrio.harness.operators.outside.trials import Attempt, Trial
from kubetrio.harness.setup import SetupError
from kubetrio.server import StartError

MOST_JOBS = 4


class CrewError(RuntimeError):
    """A process in which operators are tried has ended early, or cannot try one; one line."""


def usual_jobs() -> int:
    """So many trials at a time as this machine bears; most of their time is waiting."""
    return min(MOST_JOBS, 2 * (os.cpu_count() or 1))


class Worker(NamedTuple):
    """A process that tries operators.

    Args:
        pid: of it.
        incoming: what it answers.
        outgoing: what it is asked.
    """

    pid: int
    incoming: IO[bytes]
    outgoing: IO[bytes]

    def write(self, trial: Trial) -> None:
        """Ask it to try something.

        Raises:
            CrewError: it has ended.
        """
        try:
            pickle.dump(trial, self.outgoing)
            self.outgoing.flush()
        except OSError as error:
            raise CrewError("a process that tries operators has ended") from error

    def read(self) -> Attempt:
        """Wait for what happened; blocking.

        Raises:
            CrewError: it has ended, or cannot try that.
        """
        try:
            told: object = pickle.load(self.incoming)  # noqa: S301  (a copy of this process)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise CrewError("a process that tries operators has ended") from error
        if isinstance(told, Attempt):
            return told
        raise CrewError(str(told))


class Crew:
    """Processes that try operators; made by `open_crew`.

    Args:
        workers: that do.

    Attributes:
        runs: how many trials there were.
    """

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self._busy = False
        self.runs = 0

    def one(self, trial: Trial) -> Attempt:
        """Try an operator once; blocking."""
        [done] = self.each([trial])
        return done

    def each(self, trials: Iterable[Trial]) -> Generator[Attempt]:
        """Try an operator in several ways at a time; what happened, in their order.

        The iterator is to be used up or closed before the next call.  A trial is taken from the
        iterable when a process is free.

        Args:
            trials: what is tried.

        Raises:
            CrewError: a process ended early, or cannot try it.
            RuntimeError: it is called before the iterator of the last call is used up or closed.
        """
        if self._busy:
            raise RuntimeError("the processes still try what they were asked before")
        waiting: deque[Worker] = deque()
        free, upcoming = deque(self._workers), iter(trials)
        self._busy = True
        try:
            while True:
                while free and (trial := next(upcoming, None)) is not None:
                    waiting.append(free.popleft())
                    waiting[-1].write(trial)
                if not waiting:
                    return
                done = waiting[0].read()
                free.append(waiting.popleft())
                self.runs += 1
                yield done
        except GeneratorExit:  # the rest is not needed any more
            for worker in waiting:
                with suppress(CrewError):
                    worker.read()
            raise
        finally:
            self._busy = False


@contextmanager
def open_crew(jobs: int) -> Iterator[Crew]:
    """Start processes for as long as a block lasts.

    Args:
        jobs: how many.

    Raises:
        CrewError: this process cannot be copied.
    """
    if not hasattr(os, "fork"):
        raise CrewError("this system cannot copy a process")
    if (number := running_threads()) > 1:
        raise CrewError(f"{number} threads run in this process, and a copy would have one")
    workers: list[Worker] = []
    with ExitStack() as stack:
        for _ in range(jobs):
            workers.append(_started(workers))
            stack.callback(_end, workers[-1])
        try:
            yield Crew(workers)
        except BaseException:
            for worker in workers:
                os.kill(worker.pid, signal.SIGTERM)
            raise


def _started(others: Sequence[Worker]) -> Worker:
    """Start a process.

    Args:
        others: that run already.
    """
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        for worker in others:  # else the end of their pipes would not end them
            os.close(worker.outgoing.fileno())
            os.close(worker.incoming.fileno())
        os.close(to_write)
        os.close(from_read)
        _work(to_read, from_write)
    os.close(to_read)
    os.close(from_write)
    return Worker(pid, os.fdopen(from_read, "rb"), os.fdopen(to_write, "wb"))


def _end(worker: Worker) -> None:
    with suppress(OSError):
        worker.outgoing.close()  # which ends it
    os.waitpid(worker.pid, 0)
    worker.incoming.close()


# ------------------------------------------------------------------- in the process


def _work(reading: int, writing: int) -> NoReturn:
    """Try what is asked for, and end the process."""
    code = 1
    try:
        gc.freeze()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _interrupt)
        with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
            _answer_all(incoming, outgoing)
        code = 0
    finally:
        os._exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End in order, so that no operator goes on; Trio delivers this one where it does no harm."""
    signal.raise_signal(signal.SIGINT)


def _answer_all(incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    """Answer until there is nothing more to try."""

    def answer(told: Attempt | str) -> None:
        pickle.dump(told, outgoing)
        outgoing.flush()

    def read() -> Trial | None:
        try:
            trial: Trial = pickle.load(incoming)  # noqa: S301  (of the program that waits)
        except EOFError:
            return None
        return trial

    async def receive() -> Trial | None:
        await trio.lowlevel.wait_readable(incoming.fileno())
        return read()

    trial = read()
    while trial is not None:
        try:
            trial = attempts(trial, answer, receive)
        except (PrepareError, SetupError, StartError) as error:
            answer(str(error))
            trial = read()
        except Exception as error:  # noqa: BLE001  (told to the program that waits)
            answer(f"{type(error).__name__}: {error}")
            trial = read()
