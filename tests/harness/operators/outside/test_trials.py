"""What is tried: which trials share a server."""

from __future__ import annotations

from dataclasses import replace

from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.trials import Pace, Trial, settled
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.script import Request, Settle
from kubetrio.harness.setup import Setup

TRIAL = Trial(program=Program(words=("true",)), plan=Plan())
ASKED = Request(path="/version")


def test_trials_of_one_operator_share_a_server() -> None:
    """Whatever their plans; not where what is there before is another, or one wants its own."""
    assert replace(TRIAL, plan=Plan(steps=(ASKED,)), pace=Pace(quiet_s=9)).fits(TRIAL)
    assert not replace(TRIAL, fresh=True).fits(TRIAL)
    assert not replace(TRIAL, setup=Setup(seed=1)).fits(TRIAL)
    assert not replace(TRIAL, before=(ASKED,)).fits(TRIAL)
    assert not replace(TRIAL, program=Program(words=("false",))).fits(TRIAL)


def test_time_for_the_operator_after_each_request() -> None:
    """Once."""
    plan = Plan(steps=(ASKED, ASKED, Settle()))
    assert settled(plan) == Plan(steps=(ASKED, Settle(), ASKED, Settle()))
