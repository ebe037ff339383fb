"""Plans become smaller."""

from __future__ import annotations

from dataclasses import replace

from simulated_operators import SHELF, Simulated, books

from kubetrio.faults import Rule
from kubetrio.harness.operators.outside.probes import story
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.reducing import (
    about_one,
    length,
    performed,
    shorter,
    trimmed,
)
from kubetrio.harness.operators.outside.trials import Trial, settled
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Request, Settle

ABOUT = subject(SHELF)
MAKE, OTHER, END = ABOUT.create("a", books(1)), ABOUT.create("b", books(2)), ABOUT.delete("a")
MADE_AGAIN = ABOUT.create("a", books(3))
FAULT = Inject(rule=Rule(fault="409"))


def test_a_step_goes_with_the_rest_that_follows_it() -> None:
    """And what goes wrong stays, and a request."""
    plan = Plan(steps=(FAULT, MAKE, Settle(), OTHER, Settle()))
    assert length(plan) == 3
    assert shorter(plan, 1) == [
        Plan(steps=(FAULT, OTHER, Settle())),
        Plan(steps=(FAULT, MAKE, Settle())),
    ]
    assert shorter(plan, 3) == []
    assert shorter(Plan(steps=(MAKE, OTHER)), 1) == [Plan(steps=(OTHER,)), Plan(steps=(MAKE,))]


def test_what_users_ask_about_one_object() -> None:
    """The shortest first; nothing where there is one."""
    plan = Plan(steps=(FAULT, MAKE, OTHER, Settle(), END, MADE_AGAIN))
    assert about_one(plan) == [
        Plan(steps=(FAULT, OTHER, Settle())),
        Plan(steps=(FAULT, MAKE, END, MADE_AGAIN)),
    ]
    assert about_one(Plan(steps=(MAKE, END))) == []


def test_the_rest_at_the_end_comes_anyway() -> None:
    """But on a walk its states are looked at."""
    assert trimmed(Plan(steps=(FAULT, MAKE, Settle(), Settle()))) == Plan(steps=(FAULT, MAKE))
    assert trimmed(Plan(steps=(MAKE, Settle()))) == Plan(steps=(MAKE, Settle()))


def test_what_was_performed() -> None:
    """Up to the first state that strays, or to the last request that was made."""
    plan = story(ABOUT, [books(3), books(0), books(2)])
    trial = Trial(program=Program(words=("true",)), plan=plan)
    whole = performed(Simulated().one(trial))
    assert whole == plan
    run = Simulated("left").one(trial)
    methods = [one.method for one in performed(run).steps if isinstance(one, Request)]
    assert methods == ["POST", "POST", "PATCH", "PATCH", "DELETE"]
    broken = Simulated().one(Trial(program=trial.program, plan=settled(Plan(steps=(MAKE, OTHER)))))
    broken = replace(broken, answers=[201])
    assert performed(broken) == Plan(steps=(MAKE, Settle()))
