"""Walks of an operator through generated states of its objects, and back, from a CRD alone.

A walk makes an object, changes it through some states, goes back to the first one, and deletes it.
An operator that is right is, in each state, where it is when the object is made in that state; and
when the object is gone, so is all that it made.

Source: Acto (SOSP 2023), whose oracles are the state of the system by two ways, and recovery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.exploring import Failure, Search
from kubetrio.harness.operators.ground import Ground, open_ground
from kubetrio.harness.operators.oracles import ORACLES, Evidence, Finding, Oracle, judge
from kubetrio.harness.operators.plans import Plan, Step
from kubetrio.harness.operators.runs import Operator, Run, Terms
from kubetrio.harness.operators.scripts import script_of
from kubetrio.harness.operators.states import differences
from kubetrio.harness.operators.subjects import NAMES, Object, Subject, subject
from kubetrio.harness.script import Request, Settle
from kubetrio.harness.setup import Setup

LONGEST_WALK = 4
MOST_TOLD = 5


def walk(
    operator: Operator,
    definition: str | Mapping[str, Any],
    *,
    bodies: SearchStrategy[Object] | None = None,
    before: Sequence[Request] = (),
    setup: Setup | None = None,
    terms: Terms | None = None,
    oracles: Mapping[str, Oracle] = ORACLES,
    examples: int = 30,
    limit_s: float = 60.0,
    seed: int = 0,
) -> Failure | None:
    """Look for a walk on which an operator goes wrong; return the shortest one found.

    Args:
        operator: runs with a client until it is cancelled.
        definition: the CustomResourceDefinition that it is for, or the name of a built-in kind.
        bodies: objects of that kind; drawn from its schema when None.
        before: further requests that make the server ready.
        setup: how the server is made.
        terms: how runs are made.
        oracles: rules of what is wrong on each walk.
        examples: so many walks at most.
        limit_s: seconds of the real clock after which no more walks are tried.
        seed: decides the walks.

    Raises:
        ForkError: this process cannot be copied.
        PrepareError: a request of `before` is refused.
    """
    about = subject(definition, bodies=bodies, before=before)
    setup = setup or Setup()
    with open_ground(operator, setup=setup, before=about.before, terms=terms) as ground:
        search = WalkSearch(ground, about, oracles, limit_s=limit_s)
        plan = search.smallest(walks(about), examples, seed)
        if plan is None:
            return None
        run, findings = search.judged(plan)
        script = script_of(run.calls, setup, about.before)
        return Failure(plan=plan, findings=findings, run=run, script=script, runs=ground.runs)


def walks(about: Subject) -> SearchStrategy[Plan]:
    """Draw walks: an object is made, and changed through some states.

    Args:
        about: the kind of the object.
    """
    return st.lists(about.bodies, min_size=1, max_size=LONGEST_WALK).map(
        lambda bodies: Plan(steps=(about.create(NAMES[0], bodies[0]), *_changes(about, bodies[1:])))
    )


def _changes(about: Subject, bodies: Sequence[Object]) -> list[Step]:
    """Changes through states, with time for the operator before each."""
    steps: list[Step] = []
    for body in bodies:
        steps += [Settle(), about.change(NAMES[0], body)]
    return steps


class WalkSearch(Search):
    """Runs walks and judges them: forth, and back, and to the end.

    Args:
        ground: where they run.
        about: the kind of the object.
        oracles: rules of what is wrong on each walk.
        limit_s: seconds of the real clock after which no more walks are tried.
    """

    def __init__(
        self,
        ground: Ground,
        about: Subject,
        oracles: Mapping[str, Oracle] = ORACLES,
        *,
        limit_s: float = 60.0,
    ) -> None:
        super().__init__(ground, oracles, limit_s=limit_s)
        self._about = about

    def judged(self, plan: Plan) -> tuple[Run, Sequence[Finding]]:
        """Return what happens on a walk, and what of that is wrong."""
        run = self.run(plan)
        findings = judge(Evidence(run, None, OPERATOR.name), self.oracles)
        bodies = [one.body for one in plan.steps if isinstance(one, Request)]
        if len(bodies) > 1:
            straight = self._straight(bodies)
            if straight is not None:
                findings += _unlike("depends-on-the-way", run, straight)
            first = plan.steps[0]
            if isinstance(first, Request):
                back = Plan(steps=(*plan.steps, Settle(), self._about.change(NAMES[0], first.body)))
                findings += _unlike("does-not-go-back", self.run(back), self.run(_only(first)))
        gone = Plan(steps=(*plan.steps, Settle(), self._about.delete(NAMES[0])))
        findings += _left(self.run(gone))
        return run, findings

    def _straight(self, bodies: Sequence[Any]) -> Run | None:
        """The run in which the object is made in its last state; None where it has no such one."""
        last = dict(bodies[0])
        for patch in bodies[1:]:
            last |= {one["path"].removeprefix("/"): one["value"] for one in patch}
        run = self.run(Plan(steps=(self._about.create(NAMES[0], last),)))
        return run if all(status < 300 for status in run.answers) else None


def _only(step: Step) -> Plan:
    return Plan(steps=(step,))


def _unlike(name: str, run: Run, other: Run) -> list[Finding]:
    """Findings of a state that is not what it is by another way."""
    if any(status >= 300 for status in run.answers):
        return []
    return [Finding(name, text) for text in differences(run.after, other.after)[:MOST_TOLD]]


def _left(run: Run) -> list[Finding]:
    """Findings of what is left when the object is gone."""
    if any(status >= 300 for status in run.answers):
        return []
    return [Finding("left-behind", text) for text in differences(run.after, run.before)[:MOST_TOLD]]
