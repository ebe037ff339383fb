"""Walks of an operator through generated states of its objects, and back, from a CRD alone.

A walk makes an object, changes it through some states, goes back to the first one, and deletes it.
An operator that is right is, in each state, where it is when the object is made in that state; and
when the object is gone, so is all that it made.  The first walks lead from the smallest state to
states that have all properties of the schema, and back; then others are drawn.

Source: Acto (SOSP 2023), whose oracles are the state of the system by two ways, and recovery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kubetrio.env import seeded
from kubetrio.harness.connecting import ADMIN
from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.covering import Covering, covering, reduced, schema_of
from kubetrio.harness.operators.exploring import Failure, Search
from kubetrio.harness.operators.ground import Ground, open_ground
from kubetrio.harness.operators.oracles import ORACLES, Evidence, Finding, Oracle, judge
from kubetrio.harness.operators.plans import Plan, Step
from kubetrio.harness.operators.runs import Operator, Run, Terms
from kubetrio.harness.operators.sampling import Schema
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
        plan = None
        if bodies is None and isinstance(definition, Mapping):
            known = covered(ground, about, definition, seed)
            if known.states:
                about = replace(about, bodies=st.sampled_from(known.states) | about.bodies)
            plan = search.toured(known.states, schema_of(definition), examples)
        plan = plan or search.smallest(walks(about), examples, seed)
        if plan is None:
            return None
        run, findings = search.judged(plan)
        script = script_of(run.calls, setup, about.before)
        return Failure(plan=plan, findings=findings, run=run, script=script, runs=ground.runs)


def covered(
    ground: Ground, about: Subject, definition: Mapping[str, Any], seed: int = 0
) -> Covering:
    """Return states of a custom kind that a server takes and that have all its properties.

    Args:
        ground: with the server.
        about: the kind.
        definition: its CustomResourceDefinition.
        seed: decides the values.
    """

    def judge(bodies: Sequence[Object]) -> list[Sequence[str] | None]:
        path = f"{about.path('')}?dryRun=All"
        asked = [about.create(f"x-{at}", body) for at, body in enumerate(bodies)]
        run = ground.run(Plan(steps=tuple(replace(one, path=path) for one in asked)))
        calls = [one for one in run.calls if one.user == ADMIN.name and one.verb == "create"]
        return [None if one.done else _fields(one.answer) for one in calls]

    return covering(definition, judge, seeded(seed).rng)


def _fields(status: Any) -> list[str]:
    """The fields for which an object was refused; one empty text where none is named."""
    causes = (status.get("details") or {}).get("causes") if isinstance(status, dict) else None
    return [str(one.get("field", "")) for one in causes or ()] or [""]


def walks(about: Subject) -> SearchStrategy[Plan]:
    """Draw walks: an object is made, and changed through some states.

    Args:
        about: the kind of the object.
    """
    return st.lists(about.bodies, min_size=1, max_size=LONGEST_WALK).map(
        lambda bodies: through(about, bodies)
    )


def through(about: Subject, bodies: Sequence[Object]) -> Plan:
    """Return the walk through some states.

    Args:
        about: the kind of the object.
        bodies: the states, one at least.
    """
    return Plan(steps=(about.create(NAMES[0], bodies[0]), *_changes(about, bodies[1:])))


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

    def toured(self, states: Sequence[Object], schema: Schema, most: int) -> Plan | None:
        """Return a small walk that shows a mistake, from the first state to another one.

        Those to the largest states come first, for they have most properties.

        Args:
            states: of the object, the smallest first.
            schema: of it; what may be left out is, as long as the mistake shows.
            most: so many walks are tried at most.
        """
        tours = [[states[0], other] for other in reversed(states[1:])] or [list(states[:1])]
        for bodies in tours[:most]:
            if bodies and self._fails(through(self._about, bodies)):
                small = reduced(bodies, schema, lambda few: self._fails(through(self._about, few)))
                return through(self._about, small)
        return None

    def judged(self, plan: Plan) -> tuple[Run, Sequence[Finding]]:
        """Return what happens on a walk, and what of that is wrong.

        Changes that the server refuses are left out of the walk.
        """
        run = self.run(plan)
        fewer = _taken(plan, run.answers)
        if fewer is not plan:
            return self.judged(fewer)
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


def _taken(plan: Plan, answers: Sequence[int]) -> Plan:
    """A walk without the changes that were refused; itself where none was, or no object made."""
    requests = [one for one in plan.steps if isinstance(one, Request)]
    refused = [one for one, status in zip(requests, answers, strict=False) if status >= 300]
    if not refused or refused[0] is requests[0]:
        return plan
    steps: list[Step] = []
    for one in plan.steps:
        if any(one is other for other in refused):
            steps.pop()  # the rest before it
        else:
            steps.append(one)
    return Plan(steps=tuple(steps))


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
