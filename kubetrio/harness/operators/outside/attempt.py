"""One run of an operator in a process of its own, by a plan, on a new server that listens.

The server's time is real, and moves ahead by itself where a plan says so; the operator's is real.
"""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from kubetrio import kubeconfig
from kubetrio.api.pipeline import Handle
from kubetrio.api.response import Response
from kubetrio.env import Env, monotonic
from kubetrio.harness.opening import Harness, run
from kubetrio.harness.operators.calls import OPERATOR, Recorder, send
from kubetrio.harness.operators.ground import PrepareError
from kubetrio.harness.operators.outside.program import Processes, environment
from kubetrio.harness.operators.outside.stillness import Stillness, move
from kubetrio.harness.operators.outside.trials import Attempt, State, Trial
from kubetrio.harness.operators.plans import Step
from kubetrio.harness.operators.runs import Performing
from kubetrio.harness.operators.states import Object, differences, stored
from kubetrio.harness.script import Request
from kubetrio.machinery.status import ApiError
from kubetrio.server import Parts
from kubetrio.tls.clients import issue

DAY_S = 86400.0
LOOKS_S = 0.1
"""Seconds between two looks whether the end is right."""
CONTROLLERS_S = 2.0
"""Seconds for the server's controllers to come to rest."""
LEAST_REST_S = 0.5
"""Seconds at the end in which an operator has to be at rest, at least."""


def attempt(trial: Trial) -> Attempt:
    """Try an operator once, in a run of Trio of its own; blocking.

    Raises:
        PrepareError: what is to be there before cannot be made.
        SetupError: a flag of the setup cannot be used.
        StartError: a file that a flag names cannot be used.
    """
    done: list[Attempt] = []

    async def end() -> None:
        await trio.lowlevel.checkpoint()

    attempts(trial, done.append, end)
    return done[0]


def attempts(
    first: Trial, answer: Callable[[Attempt], None], receive: Callable[[], Awaitable[Trial | None]]
) -> Trial | None:
    """Try an operator again and again on one server, in a run of Trio of its own; blocking.

    Between two trials users delete what they have made.

    Args:
        first: what is tried first.
        answer: is told what happened.
        receive: returns what is tried next, None for nothing.

    Returns:
        A trial that needs another server; None when there is nothing more to try.

    Raises:
        PrepareError: what is to be there before cannot be made.
        SetupError: a flag of the setup cannot be used.
        StartError: a file that a flag names cannot be used.
    """
    recorders: list[Recorder] = []

    def around(handle: Handle) -> Handle:
        recorder = Recorder(
            handle, lambda user: user.name == OPERATOR.name, most_calls=first.pace.most_calls
        )
        recorders.append(recorder)
        return recorder.handle

    async def main(server: Harness) -> Trial | None:
        trial = first
        async with _open_site(server, recorders[-1], trial) as site:
            while True:
                done = await site.tries(trial)
                answer(done)
                clean = await site.clean(trial, done)
                following = await receive()
                if following is None or not (clean and following.fits(trial)):
                    return following
                trial = following

    setup = replace(first.setup, listen=True, start=Env().now())
    return run(main, setup, parts=Parts(around=around))


@asynccontextmanager
async def _open_site(server: Harness, recorder: Recorder, trial: Trial) -> AsyncIterator[_Site]:
    """Make a server ready, and run the operator for as long as a block lasts."""
    await _prepare(server, trial)
    before = await stored(server.api.storage.store)
    with TemporaryDirectory(prefix="kubetrio-", ignore_cleanup_errors=True) as folder:
        env = environment(os.environ, _kubeconfig(server), folder)
        processes = Processes(trial.program, env)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(processes.run)
            yield _Site(server, recorder, processes, before)
            nursery.cancel_scope.cancel()


class _Site:
    """A server on which an operator runs.

    Args:
        server: the server.
        recorder: has all requests.
        processes: of the operator.
        before: objects there were before it started.
    """

    def __init__(
        self,
        server: Harness,
        recorder: Recorder,
        processes: Processes,
        before: Sequence[Object],
    ) -> None:
        self._server = server
        self._recorder = recorder
        self._processes = processes
        self._before = before
        self._still = Stillness(recorder, processes)
        self._first: State | None = None

    async def tries(self, trial: Trial) -> Attempt:
        """Do what a plan says, and return what happened."""
        self._recorder.begin()
        self._still.begin()
        self._processes.crashes = []
        performing = self._performing(trial)
        if self._first is None:
            await performing.settle()
        else:
            await performing.keep()
        for step in trial.plan.steps:
            if performing.restless:
                break  # nothing that is told of it after this counts
            await performing.do(step)
        await performing.rest()
        await performing.calm()
        restful_s = await performing.end()
        self._first = self._first or performing.states[0]
        return Attempt(
            plan=trial.plan,
            calls=self._recorder.calls,
            before=self._before,
            after=performing.states[-1].objects,
            crashes=self._processes.crashes,
            restful_s=restful_s,
            exhausted=self._recorder.exhausted.is_set(),
            answers=performing.answers,
            rules=performing.rules,
            states=performing.states,
            longest_pause_s=self._still.longest_pause_s,
            silent=self._still.silent,
        )

    async def clean(self, trial: Trial, done: Attempt) -> bool:
        """Delete what users have made; say whether everything is as it was at first.

        Args:
            trial: what was tried last.
            done: what happened.
        """
        if trial.fresh or done.exhausted or done.crashes or done.silent or self._first is None:
            return False
        paths = {
            f"{one.path}/{one.body['metadata']['name']}": None
            for one in trial.plan.steps
            if isinstance(one, Request) and one.method == "POST"
        }
        performing = self._performing(trial)
        for path in paths:
            await send(self._recorder.handle, "DELETE", path)
        await performing.calm()
        await performing.end(self._first.objects)
        return not differences(performing.states[-1].objects, self._first.objects)

    def _performing(self, trial: Trial) -> _Outside:
        return _Outside(
            self._server, self._recorder, self._processes, self._still, trial, self._before
        )


async def _prepare(server: Harness, trial: Trial) -> None:
    """Make what is to be there.

    Raises:
        PrepareError: something cannot be made.
    """
    for request in trial.before:
        answer = await send(server.api.handle, request.method, request.path, request.body)
        if answer.status >= 300:
            text = answer.body.decode(errors="replace") if isinstance(answer, Response) else ""
            raise PrepareError(f"{request.method} {request.path}: {answer.status} {text}")
    await server.settled()
    client = server.client()
    for manifest in trial.manifests:
        try:
            await client.create(manifest)
        except (ApiError, ValueError) as error:
            name = manifest.get("metadata", {}).get("name", "")
            raise PrepareError(f"{manifest.get('kind')} {name}: {error}") from error
        await server.settled()


def _kubeconfig(server: Harness) -> Path:
    """Write the operator's kubeconfig, and return its path."""
    config = server.config
    issued = issue(config.pki_dir, OPERATOR.name, OPERATOR.groups, Env().utcnow(), DAY_S)
    document: dict[str, Any] = server.kubeconfig()
    [context] = document["contexts"]
    context["context"]["user"] = OPERATOR.name
    proof = {
        "client-certificate-data": base64.b64encode(issued.certificate).decode(),
        "client-key-data": base64.b64encode(issued.key).decode(),
    }
    document["users"] = [{"name": OPERATOR.name, "user": proof}]
    path = config.data_dir / "operator.kubeconfig"
    kubeconfig.write(path, document)
    return path


class _Outside(Performing):
    """Does the steps of a plan with an operator in a process.

    Args:
        server: with which.
        recorder: has all requests.
        processes: of the operator.
        still: sees whether it is at rest.
        trial: what is tried.
        before: objects there were before.

    Attributes:
        states: when it was at rest.
        restless: set when it does not come to rest although nothing goes wrong.
    """

    def __init__(
        self,
        server: Harness,
        recorder: Recorder,
        processes: Processes,
        still: Stillness,
        trial: Trial,
        before: Sequence[Object],
    ) -> None:
        super().__init__(server, recorder, processes)
        self._processes = processes
        self._trial = trial
        self._known = {_identity(one) for one in before}
        self._still = still
        self.states: list[State] = []
        self.restless = False

    async def do(self, step: Step) -> None:
        """Do a step; what users ask follows deaths that are over by then."""
        if isinstance(step, Request):
            self._move_on()
        await super().do(step)

    async def move(self, seconds: float) -> None:
        """Let the operator do what there is to do, and time pass on the server."""
        await self._still.wait(self._trial.pace.quiet_s, self._trial.pace.limit_s)
        move(seconds)

    async def settle(self) -> None:
        """Wait until the operator is at rest, and keep how things are then."""
        rests = await self.rest()
        self.restless = not (rests or self._server.faults.active)
        await self.keep()

    async def rest(self) -> bool:
        """Wait until the operator is at rest, and say whether it came to rest."""
        pace = self._trial.pace
        rests = await self._still.wait(pace.quiet_s, pace.limit_s)
        self._move_on()
        return rests

    def _move_on(self) -> None:
        """Let the time pass for which the operator was down."""
        seconds, self._processes.downtime_s = self._processes.downtime_s, 0.0
        if seconds:
            move(seconds)

    async def keep(self) -> None:
        """Keep how things are."""
        calls, answers = len(self._recorder.calls), len(self.answers)
        self.states.append(State(await self._objects(), calls, answers))

    async def _objects(self) -> list[Object]:
        """All objects; those that are as they were before the operator, without content."""
        with trio.move_on_after(CONTROLLERS_S):  # they do not rest while an operator writes
            await self._server.settled()
        objects = await stored(self._server.api.storage.store)
        return [_stub(one) if _identity(one) in self._known else one for one in objects]

    async def end(self, expected: Sequence[Object] | None = None) -> float:
        """Wait until the operator is at rest and the end is right, and keep it.

        Args:
            expected: objects there should be; those of the trial when None.

        Returns:
            From when on it had to be at rest, in seconds of the recorder.
        """
        pace, expected = self._trial.pace, expected or self._trial.expected
        since, until = self._recorder.now(), monotonic() + pace.patience_s
        rest_s = max(LEAST_REST_S, pace.quiet_s)
        if not await self._still.wait(rest_s, pace.patience_s):
            await self.keep()
            return since + pace.patience_s / 2
        while expected is not None and monotonic() < until:
            if not differences(await self._objects(), expected):
                break
            await trio.sleep(LOOKS_S)
        restful_s = self._recorder.now()
        await trio.sleep(rest_s)
        await self.keep()
        return restful_s


def _identity(obj: Object) -> tuple[str, str]:
    meta = obj["metadata"]
    return meta.get("uid", ""), meta.get("resourceVersion", "")


def _stub(obj: Object) -> Object:
    meta = obj["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "uid") if key in meta}
    return {"kind": obj["kind"], "metadata": kept}
