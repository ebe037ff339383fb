"""One run of an operator by a plan, on a server of the harness."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Protocol

import trio

from kubetrio.client import Client
from kubetrio.faults.rule import WATCH, Rule
from kubetrio.harness.opening import Harness
from kubetrio.harness.operators.calls import OPERATOR, Call, Recorder, send
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.states import Object, stored
from kubetrio.harness.script import Inject, Move, Request, Settle
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log

Operator = Callable[[Client], Awaitable[None]]
"""An operator: runs with a client until it is cancelled."""
FOREIGN = "example.com/other-controller"
"""A finalizer of a controller that is not the operator; it is removed when the object is deleted,
after the last step."""
STARTS_S = 2.0
RESTS_S = 20.0
"""Seconds after which an operator that nothing disturbs counts as at rest."""
BACKOFF_S = 10.0
"""Seconds until an operator that ended by itself is started again."""
MOST_STARTS = 20
log = Log("kubetrio.harness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How runs are made.

    Args:
        quiet_s: seconds without users and faults at the end; in the second half the operator has
            to be at rest.
        most_calls: requests that the operator may make in all.
        latency_s: how long each of its requests takes.
    """

    quiet_s: float = 120.0
    most_calls: int = 1000
    latency_s: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What happened.

    Args:
        plan: by which.
        calls: requests of the operator and of users.
        before: objects there were when the operator started.
        after: objects there are at the end.
        crashes: what the operator raised when it ended by itself.
        restful_s: from when on the operator has to be at rest, in seconds since the beginning.
        exhausted: whether it made more requests than it may.
        answers: status codes of the plan's requests.
        rules: faults that were in force, by id.
    """

    plan: Plan
    calls: Sequence[Call]
    before: Sequence[Object]
    after: Sequence[Object]
    crashes: Sequence[str] = ()
    restful_s: float = 0.0
    exhausted: bool = False
    answers: Sequence[int] = ()
    rules: dict[str, Rule] = field(default_factory=dict)


class Mortal(Protocol):
    """An operator that can be killed."""

    def kill(self, down_s: float) -> None:
        """End it now, and start it again so many seconds later."""
        ...


class Lifetimes:
    """Runs an operator, kills it, and starts it again.

    Args:
        operator: that runs.
        client: its client.

    Attributes:
        crashes: what it raised when it ended by itself.
    """

    def __init__(self, operator: Operator, client: Client) -> None:
        self._operator = operator
        self._client = client
        self._scope = trio.CancelScope()
        self._down_s = BACKOFF_S
        self.crashes: list[str] = []

    def kill(self, down_s: float) -> None:
        """End it now.

        Args:
            down_s: seconds until it is started again.
        """
        self._down_s = down_s
        self._scope.cancel()

    async def run(self) -> None:
        """Run it, again and again."""
        for _ in range(MOST_STARTS):
            self._down_s = BACKOFF_S
            with trio.CancelScope() as self._scope:
                try:
                    await self._operator(self._client)
                    self.crashes.append("it returned")
                except Exception as error:  # noqa: BLE001  (it is what is looked for)
                    self.crashes.append(_words(error))
            await trio.sleep(self._down_s)


def _words(error: BaseException) -> str:
    """What went wrong, of the innermost exception."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def run_plan(server: Harness, operator: Operator, plan: Plan, terms: Terms) -> Run:
    """Run an operator by a plan, and return what happened.

    Args:
        server: as it is to be at the beginning.
        operator: that is tried.
        plan: what happens.
        terms: how.
    """
    recorder = Recorder(
        server.api.handle,
        lambda user: user.name == OPERATOR.name,
        most_calls=terms.most_calls,
        latency_s=terms.latency_s,
    )
    store = server.api.storage.store
    client = Client(recorder.handle, server.api.storage.registry, OPERATOR)
    lifetimes = Lifetimes(operator, client)
    before = await stored(store)
    performing = Performing(server, recorder, lifetimes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lifetimes.run)
        await trio.sleep(STARTS_S)
        for step in plan.steps:
            await performing.do(step)
        await performing.do(Settle())
        await performing.calm()
        await _sleep(terms.quiet_s / 2, recorder)
        restful_s = recorder.now()
        await _sleep(terms.quiet_s / 2, recorder)
        nursery.cancel_scope.cancel()
    return Run(
        plan=plan,
        calls=recorder.calls,
        before=before,
        after=await stored(store),
        crashes=lifetimes.crashes,
        restful_s=restful_s,
        exhausted=recorder.exhausted.is_set(),
        answers=performing.answers,
        rules=performing.rules,
    )


async def _sleep(seconds: float, recorder: Recorder) -> None:
    """Let time pass, but none for an operator that has been stopped."""
    with trio.move_on_after(seconds):
        await recorder.exhausted.wait()


class Performing:
    """Does the steps of a plan.

    Args:
        server: with which.
        recorder: through which users ask.
        operator: whose deaths are steps.

    Attributes:
        answers: status codes of users' requests.
        rules: faults that were in force, by id.
    """

    def __init__(self, server: Harness, recorder: Recorder, operator: Mortal) -> None:
        self._server = server
        self._recorder = recorder
        self._operator = operator
        self.answers: list[int] = []
        self.rules: dict[str, Rule] = {}

    async def do(self, step: Step) -> None:
        """Do a step."""
        match step:
            case Request():
                media = step.headers.get("Content-Type", "application/json")
                response = await send(
                    self._recorder.handle, step.method, step.path, step.body, media=media
                )
                self.answers.append(response.status)
            case Inject():
                self._inject(step.rule)
            case Move():
                await self.move(step.seconds)
            case Settle():
                await self.settle()
            case Crash(writes=0):
                self._operator.kill(step.down_s)
                await trio.lowlevel.checkpoint()
            case Crash():
                self._arm(step)

    async def move(self, seconds: float) -> None:
        """Let time pass."""
        await _sleep(seconds, self._recorder)

    async def settle(self) -> None:
        """Wait until the operator is at rest."""
        await _sleep(RESTS_S, self._recorder)

    def _inject(self, rule: Rule | None) -> None:
        faults = self._server.faults
        if rule is None:
            faults.clear()
            return
        rule_id = faults.add(replace(rule, user=(OPERATOR.name,)))
        self.rules[rule_id] = rule
        if rule.fault.startswith("watch-") or rule.verb == tuple(WATCH):
            self._recorder.end_watches()  # so that the next ones have the fault

    def _arm(self, crash: Crash) -> None:
        left = crash.writes

        def written() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._recorder.after_write = None
                self._operator.kill(crash.down_s)

        self._recorder.after_write = written

    async def calm(self) -> None:
        """End all that goes wrong, and have other controllers let go of what is deleted."""
        self._server.faults.clear()
        self._recorder.after_write = None
        for obj in await stored(self._server.api.storage.store):
            meta = obj["metadata"]
            if FOREIGN in meta.get("finalizers", ()) and "deletionTimestamp" in meta:
                await self._let_go(obj)

    async def _let_go(self, obj: Object) -> None:
        """Remove the finalizer of another controller, as that would."""
        client = self._server.client()
        kind, meta = client.kind(obj["apiVersion"], obj["kind"]), obj["metadata"]
        namespace = meta.get("namespace", "")
        while FOREIGN in meta.get("finalizers", ()):
            path = f"/metadata/finalizers/{meta['finalizers'].index(FOREIGN)}"
            test, remove = {"op": "test", "path": path, "value": FOREIGN}, {"op": "remove"}
            try:
                patch: list[dict[str, Any]] = [test, {**remove, "path": path}]
                await client.patch(kind, meta["name"], patch, namespace, how="json")
                return
            except ApiError as error:
                if error.code == HTTPStatus.NOT_FOUND:
                    return
                log.verbose(4, "the object was changed meanwhile", reason=error.message)
            meta = (await client.get(kind, meta["name"], namespace))["metadata"]
