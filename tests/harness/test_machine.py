"""The state machine finds what is wrong, and leaves a script of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from kubetrio.harness.machine import SETTINGS, machine, no_failure
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Request, Script, Step
from kubetrio.harness.session import replayed
from kubetrio.harness.setup import Setup
from kubetrio.harness.strategies import FEW_NAMES

FEW = settings(SETTINGS, max_examples=20, stateful_step_count=8)
MAPS = "/api/v1/namespaces/default/configmaps"
CREATES = [
    Request(method="POST", path=MAPS, body={"metadata": {"name": name}}) for name in FEW_NAMES
]
START = Script(setup=Setup(seed=1))


def never_twice(step: Step, reply: Reply) -> None:
    """A property that does not hold: every create succeeds."""
    if isinstance(step, Request) and step.method == "POST":
        assert reply.status != 409


def test_a_failure_is_a_script_of_a_few_steps() -> None:
    """One create of a name that is there; replayed, the script is answered so again."""
    start = replace(START, steps=CREATES)
    made = machine("v1 ConfigMap", start=start, check=never_twice, broken=False)
    with pytest.raises(AssertionError) as caught:
        run_state_machine_as_test(made, settings=FEW)
    script = made.failure
    assert script is not None
    [step] = script.steps[len(CREATES) :]
    assert isinstance(step, Request)
    assert (step.method, step.path) == ("POST", MAPS)
    again = replayed(script).steps[-1].answer
    assert again is not None
    assert again.status == 409
    notes = "\n".join(getattr(caught.value, "__notes__", ()))
    assert '"format": "kubetrio-script/1"' in notes


def test_a_server_without_bugs_passes() -> None:
    """Objects that are broken included."""
    made = machine("v1 Service", start=START)
    run_state_machine_as_test(made, settings=settings(FEW, max_examples=5))
    assert made.failure is None


@pytest.mark.parametrize(
    "reply", [Reply(status=500), Reply(error="no answer within 600 seconds")], ids=str
)
def test_what_counts_as_a_failure(reply: Reply) -> None:
    """An error of the server's own, and no answer; a step that was not sent does not."""
    with pytest.raises(AssertionError):
        no_failure(Request(path="/"), reply)
    no_failure(Request(path="/"), Reply(status=504, body=b"Too large resource version: 5"))
    no_failure(Request(path="/"), Reply(error="not sent: {{1.a}} leads nowhere"))
