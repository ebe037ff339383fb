"""A state machine of hypothesis that does steps with a server and checks each answer.

A failing example is shrunk, and what is left is a script: `failure` of the class has it, and the
report of hypothesis shows it.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, ClassVar

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from hypothesis.strategies import SearchStrategy

from kubetrio.harness import strategies
from kubetrio.harness.origin import Copy, Origin, open_origin
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Move, Request, Script, Settle, Step

Check = Callable[[Step, Reply], None]
SETTINGS = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], report_multiple_bugs=False
)
"""For machines and properties that ask a server: what it takes to answer is no mistake."""
LONGEST_MOVE_S = 3600
TOO_LARGE = b"Too large resource version"


def no_failure(step: Step, reply: Reply) -> None:
    """See that a request is answered, and with no error of the server's own.

    504 is right where a read asks for a resourceVersion that is not there yet.

    Raises:
        AssertionError: it is not.
    """
    if isinstance(step, Request):
        if reply.error and not reply.error.startswith("not sent"):
            raise AssertionError(f"{step.method} {step.path}: {reply.error}")
        if reply.status >= 500 and TOO_LARGE not in reply.body:
            raise AssertionError(f"{step.method} {step.path}: answered {reply.status}")


class ScriptMachine(RuleBasedStateMachine):
    """Does steps with a copy of a server; made by `machine`.

    Attributes:
        start: what leads to where each example begins.
        check: called with each step and what was answered; raises where that is wrong.
        failure: script of the last example that failed, which is the smallest when hypothesis has
            shrunk it; None where none did.
    """

    start: ClassVar[Script] = Script()
    check: ClassVar[Check] = staticmethod(no_failure)
    failure: ClassVar[Script | None] = None
    _origins: ClassVar[dict[str, Origin]] = {}
    _open: ClassVar[ExitStack] = ExitStack()

    def __init__(self) -> None:
        super().__init__()
        self._example = ExitStack()
        self.copy: Copy = self._example.enter_context(self._origin().fork())

    @classmethod
    def _origin(cls) -> Origin:
        """The server that copies are made of, started when it is first needed."""
        key = str(cls.start)
        if key not in cls._origins:
            if not cls._origins:
                atexit.register(ScriptMachine._open.close)
            cls._origins[key] = cls._open.enter_context(open_origin(cls.start))
        return cls._origins[key]

    def do(self, step: Step) -> Reply:
        """Do a step and check what was answered.

        Args:
            step: which.
        """
        reply = self.copy.do(step)
        try:
            type(self).check(step, reply)
        except BaseException:
            script, _ = self.copy.finish()
            type(self).failure = script
            note(f"the script, for kubetrio replay:\n{script.unanswered()}")
            raise
        return reply

    def teardown(self) -> None:
        """End the copy."""
        self._example.close()


def machine(
    kind: str | SearchStrategy[str] = "v1 ConfigMap",
    *,
    start: Script | None = None,
    check: Check = no_failure,
    broken: bool = True,
) -> type[ScriptMachine]:
    """Return a state machine that makes requests about a few objects, and moves the clock.

    Its ``TestCase`` is a test.  A subclass may have further rules, which call `ScriptMachine.do`.

    Args:
        kind: see `kubetrio.harness.strategies.requests`.
        start: how the server is made, and steps that lead to where each example begins.
        check: called with each step and what was answered; raises where that is wrong.
        broken: whether some objects are no valid ones.
    """
    requests = strategies.requests(kind, broken=broken)

    class Machine(ScriptMachine):
        @rule(request=requests)
        def request(self, request: Request) -> None:
            """Make a request."""
            self.do(request)

        @rule(seconds=st.integers(1, LONGEST_MOVE_S))
        def move(self, seconds: int) -> None:
            """Move the clock."""
            self.do(Move(seconds=seconds))

        @rule()
        def settle(self) -> None:
            """Let the controllers do what there is to do."""
            self.do(Settle())

    body: dict[str, Any] = {"start": start or Script(), "check": staticmethod(check)}
    chosen: type[ScriptMachine] = type("Machine", (Machine,), body)
    chosen.TestCase.settings = SETTINGS
    return chosen
