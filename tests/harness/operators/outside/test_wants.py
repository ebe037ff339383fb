"""Where users want the same, everything has to be the same."""

from __future__ import annotations

from typing import Any

from simulated_operators import SHELF, books

from kubetrio.faults import Rule
from kubetrio.harness.operators.outside.trials import Attempt, State, settled
from kubetrio.harness.operators.outside.wants import strays
from kubetrio.harness.operators.plans import Plan, Step
from kubetrio.harness.operators.runs import FOREIGN
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject

ABOUT = subject(SHELF)
ONE, TWO = books(1), books(2)


def config_map(name: str, **data: str) -> dict[str, Any]:
    """An object that an operator has made."""
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def walked(*steps: tuple[Step, list[dict[str, Any]]], refused: int = 0) -> Attempt:
    """A walk, with the objects that there are after each step."""
    plan = settled(Plan(steps=tuple(step for step, _ in steps)))
    states = [State([], 0, 0), *(State(objects, 0, 0) for _, objects in steps)]
    answers = [201] * (len(steps) - refused) + [409] * refused
    after = states[-1].objects
    return Attempt(plan=plan, calls=(), before=(), after=after, answers=answers, states=states)


def test_an_operator_that_is_right() -> None:
    """It goes to a state and back, and leaves nothing."""
    run = walked(
        (ABOUT.create("a", ONE), [config_map("a-0")]),
        (ABOUT.change("a", TWO), [config_map("a-0"), config_map("a-1")]),
        (ABOUT.change("a", ONE), [config_map("a-0")]),
        (ABOUT.delete("a"), []),
        (ABOUT.create("a", TWO), [config_map("a-0"), config_map("a-1")]),
    )
    assert strays(run) == []


def test_ways() -> None:
    """Each mistake has the name of the way on which it shows."""
    make, grow, shrink = ABOUT.create("a", ONE), ABOUT.change("a", TWO), ABOUT.change("a", ONE)
    left = strays(walked((make, [config_map("a-0")]), (ABOUT.delete("a"), [config_map("a-0")])))
    assert [str(one) for one in left] == ["left-behind: ConfigMap default/a-0: there are 1, not 0"]
    many = [config_map("a-0"), config_map("a-1")]
    back = strays(walked((make, [config_map("a-0")]), (grow, many), (shrink, many)))
    assert [one.oracle for one in back] == ["does-not-go-back"]
    remade = walked(
        (make, [config_map("a-0")]),
        (ABOUT.delete("a"), []),
        (make, [config_map("a-0", first="no")]),
    )
    assert [one.oracle for one in strays(remade)] == ["depends-on-the-way"]


def test_what_says_nothing() -> None:
    """Refused users, faults, and finalizers of others."""
    left = [config_map("a-0")]
    make, delete = ABOUT.create("a", ONE), ABOUT.delete("a")
    assert strays(walked((make, left), (delete, left), refused=1)) == []
    held = ABOUT.create("a", ONE, (FOREIGN,))
    assert strays(walked((held, left), (delete, left))) == []
    run = walked((make, left), (delete, left))
    fault = Inject(rule=Rule(fault="409"))
    wrong = Attempt(
        plan=Plan(steps=(fault, *run.plan.steps)), calls=(), before=(), after=(),
        answers=run.answers, states=run.states,
    )  # fmt: skip
    assert strays(wrong) == []
