"""Memory is refused at the n-th call of the server's code, descriptors from the n-th on.

python fuzz/refused.py --step 41 --seed 1

While a request is made beside others, the n-th call of a function of the server that makes what
grows with requests (bodies, objects, answers, lists, rows), of flow control or of the store raises
MemoryError, whichever task it is in: n is 1, 1 + STEP, ... until the request ends before that.  It
may be answered with an error; then the server has to be as if it had been made or had not
(`fuzz.interrupting`).  A server that ends by it is counted, and started again.

And a server in a process of its own gets no descriptor above the n-th free one, while it starts,
and while it is asked on new connections: it tells in a line why it does not start, or it serves;
with descriptors again it takes writes, and has all that it answered.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import logging
import resource
import sys
import tempfile
import types
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kubetrio
from fuzz.interrupting import MAPS, MOST, OPS, Call, Outcome, interrupt_requests, run
from fuzz.killing import TOKEN, KilledServer
from kubetrio.machinery.status import ApiError
from kubetrio.runtime.groups import leaves

OURS = str(Path(kubetrio.__file__).parent)
SEAMS = (
    "/api/encoding/", "/wire/", "/machinery/", "/resources/", "/admission/", "/schema/", "/types/",
    "/structural/", "/kinds/", "/crd/", "/store/", "/flow/",
)  # fmt: skip
"""Code that makes what grows with requests (bodies, objects, answers, lists, rows), and what has to
be whole behind any of them: flow control and the store."""
BEGUN = 10  # offset in the code of a function; a coroutine that goes on is behind it
LIMITED_S = 20.0  # of the server's time, for a request


class _NoMemory:
    """Has the n-th call of the server's code raise, from when it is armed.

    Args:
        number: of the call, from 1.
    """

    def __init__(self, number: int) -> None:
        self.number, self.seen, self.where = number, 0, ""

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith(OURS) or not any(each in name for each in SEAMS):
            return
        if frame.f_lasti > BEGUN:  # it has its frame
            return
        self.seen += 1
        if self.seen == self.number:
            self.where = f"{name[len(OURS) + 1 :]}:{frame.f_code.co_name}"
            sys.setprofile(None)
            raise MemoryError

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        """Count calls as long as the block lasts."""
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


class Memory:
    """Refuses memory, and knows where it did last.

    Args:
        outcome: told.

    Attributes:
        number: of the last call.
        where: the function that was refused.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.number, self.where = 0, ""

    async def refuse_at(self, number: int, call: Call) -> bool:
        """Make a call without memory for the n-th function; whether it came to that."""
        refusing = _NoMemory(number)
        self.number, self.where = number, ""
        with refusing.armed(), contextlib.suppress(ApiError, MemoryError):
            try:
                with trio.move_on_after(LIMITED_S) as scope:
                    await call()
            finally:
                self.where = refusing.where
            if scope.cancelled_caught:
                self._outcome.problems.append(f"no answer behind {self.where}, number {number}")
        return bool(self.where)

    def enumerate(self, place: Path, seed: int, what: str, numbers: range) -> None:
        """Refuse memory at one point of a request after the other.

        A server that ends is started again.

        Args:
            place: directory of the server.
            seed: of its randomness.
            what: name of the request.
            numbers: of calls.
        """
        while numbers:
            doing = partial(
                interrupt_requests, place, seed, [what], self._outcome, self.refuse_at, numbers
            )
            try:
                run(doing)
                return
            except BaseException as error:
                if not only_memory(error):
                    raise
            self._outcome.points[f"{what}: ended the server in {self.where}"] += 1
            numbers = numbers[numbers.index(self.number) + 1 :]


def only_memory(error: BaseException) -> bool:
    """Whether an error is a lack of memory, and what comes of that."""
    found = [*leaves(error)] if isinstance(error, BaseExceptionGroup) else [error]
    return any(isinstance(each, MemoryError) for each in found) and all(
        isinstance(each, MemoryError | trio.Cancelled | ApiError) for each in found
    )


# ------------------------------------------------------------------ descriptors


class Descriptors:
    """A server in a process, whose descriptors end at a number.

    Args:
        folder: for its files.
        outcome: told.
    """

    def __init__(self, folder: Path, outcome: Outcome) -> None:
        self._folder, self._outcome = folder, outcome
        self._answered: set[str] = set()

    def at_work(self, most: int) -> None:
        """Ask on new connections while 0, 1, ... descriptors are left."""
        server = KilledServer(self._folder / "work", ())
        try:
            for left in range(most):
                self._at_work(server, left)
        finally:
            server.stop()
        server = KilledServer(self._folder / "work", ())
        try:
            self._look(server, "at the next start")
        finally:
            server.stop()

    def _at_work(self, server: KilledServer, left: int) -> None:
        pid = server.pid
        used = {int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()}
        free = (number for number in range(1 << 20) if number not in used)
        limit = [next(free) for _ in range(left + 1)][-1]
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
        held = []
        try:
            for number in range(left + 2):
                connection = server.connect()
                connection.timeout = 1
                held.append(connection)
                with contextlib.suppress(OSError, http.client.HTTPException):
                    self._write(connection, f"left{left}-{number}")
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for connection in held:
            connection.close()
        self._outcome.points["descriptors at work"] += 1
        if server.ended:
            self._outcome.problems.append(f"{left} descriptors left: the server ended")
        self._look(server, f"{left} descriptors left")

    def _write(self, connection: http.client.HTTPSConnection, name: str) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        body = json.dumps({"metadata": {"name": name}})
        connection.request("POST", MAPS, body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status == 201:
            self._answered.add(name)

    def _look(self, server: KilledServer, when: str) -> None:
        connection = server.connect()
        self._write(connection, f"after-{len(self._answered)}")
        connection.request("GET", MAPS, headers={"Authorization": f"Bearer {TOKEN}"})
        items = json.loads(connection.getresponse().read())["items"]
        connection.close()
        if lost := self._answered - {item["metadata"]["name"] for item in items}:
            self._outcome.problems.append(f"{when}: lost {sorted(lost)}")

    def at_start(self, numbers: Sequence[int]) -> None:
        """Start a server that may open so many files."""
        for number in numbers:
            folder = self._folder / "start"
            try:
                server = KilledServer(folder, (), most_files=number)
            except RuntimeError as error:
                lines = str(error).splitlines()
                if any(line.startswith("Traceback") for line in lines):
                    self._outcome.problems.append(f"{number} files: {lines[-1]}")
                self._outcome.kept["descriptors at the start"] += 0
            else:
                self._outcome.kept["descriptors at the start"] += 1
                server.stop()
            self._outcome.points["descriptors at the start"] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step", type=int, default=41, help="between two calls without memory")
    parser.add_argument("--only", nargs="*", default=[*OPS], choices=[*OPS])
    parser.add_argument("--descriptors", type=int, default=12, help="left, at most; 0 for none")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    outcome = Outcome()
    numbers = range(1 + options.seed % options.step, MOST * options.step, options.step)
    with tempfile.TemporaryDirectory(prefix="kubetrio-refused-") as folder:
        for what in options.only:
            place = Path(folder) / what.replace(" ", "-")
            Memory(outcome).enumerate(place, options.seed, what, numbers)
            print(f"{what}: {outcome.points[what]} calls without memory", flush=True)
        if options.descriptors:
            descriptors = Descriptors(Path(folder), outcome)
            descriptors.at_work(options.descriptors)
            descriptors.at_start(range(12, 12 + 4 * options.descriptors, 4))
    logging.disable(logging.NOTSET)
    print(outcome.text())
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
