"""Hypothesis looks for a plan by which an operator does something wrong, and shrinks it.

Needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import find as smallest
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from kubetrio.env import monotonic, seeded
from kubetrio.faults import Rule
from kubetrio.harness.forking import ForkError
from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.ground import Ground, open_ground
from kubetrio.harness.operators.oracles import ORACLES, Evidence, Finding, Oracle, judge
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.runs import Operator, Run, Terms
from kubetrio.harness.operators.scripts import script_of
from kubetrio.harness.operators.singles import Habits, singles
from kubetrio.harness.operators.subjects import NAMES, Subject, subject
from kubetrio.harness.script import Inject, Move, Request, Script, Settle
from kubetrio.harness.setup import Setup
from kubetrio.harness.strategies import Object

LONGEST_PLAN = 8
LEARNS_FROM = 4
"""So many objects, of which the first is made and the others are changes."""
RETRY_AFTER_S = 5
SHOWN_CALLS = 25
ALL_CHECKS = list(HealthCheck)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A plan by which an operator does something wrong.

    Args:
        plan: the smallest that was found.
        findings: what it does wrong.
        run: what happened.
        script: the requests of users and operator, to be replayed on any server.
        runs: how many runs it took.
    """

    plan: Plan
    findings: Sequence[Finding]
    run: Run
    script: Script
    runs: int

    def __str__(self) -> str:
        calls = [
            str(call) for call in self.run.calls if call.writes or not 200 <= call.status < 300
        ]
        left = len(calls) - SHOWN_CALLS
        more = [f"and {left} more"] if left > 0 else []
        told = [str(one) for one in self.findings]
        return "\n".join(
            [
                "What the operator did wrong:", *told,
                "", "By this plan:", str(self.plan),
                "", "Writes and failures:", *calls[:SHOWN_CALLS], *more,
            ]
        )  # fmt: skip


def explore(
    operator: Operator,
    kind: str | Mapping[str, Any],
    *,
    bodies: SearchStrategy[Object] | None = None,
    before: Sequence[Request] = (),
    setup: Setup | None = None,
    terms: Terms | None = None,
    oracles: Mapping[str, Oracle] = ORACLES,
    examples: int = 100,
    limit_s: float = 60.0,
    seed: int = 0,
) -> Failure | None:
    """Look for a plan by which an operator does something wrong; return the smallest one found.

    Short plans with one disturbance each are tried first; then plans are drawn.

    Each plan runs in a copy of one server, on a clock that jumps ahead, and is compared with the
    run in which users do the same and nothing goes wrong.

    Args:
        operator: runs with a client until it is cancelled.
        kind: that it is for: a CustomResourceDefinition, or a name such as ``apps/v1 Deployment``.
        bodies: objects of that kind; drawn from its schema when None.
        before: further requests that make the server ready.
        setup: how the server is made.
        terms: how runs are made.
        oracles: rules of what is wrong.
        examples: so many plans are tried at most.
        limit_s: seconds of the real clock after which no more plans are tried.
        seed: decides the plans.

    Raises:
        ForkError: this process cannot be copied.
        PrepareError: a request of `before` is refused.
    """
    about = subject(kind, bodies=bodies, before=before)
    setup = setup or Setup()
    with open_ground(operator, setup=setup, before=about.before, terms=terms) as ground:
        search = Search(ground, oracles, limit_s=limit_s)
        known = habits(ground, about, seed)
        plan = search.first(singles(about, known, seeded(seed).rng), examples)
        if plan is None and search.judgements < examples:
            plan = search.smallest(plans(about, known), examples - search.judgements, seed)
        if plan is None:
            return None
        run, findings = search.judged(plan)
        script = script_of(run.calls, setup, about.before)
        return Failure(plan=plan, findings=findings, run=run, script=script, runs=ground.runs)


class Search:
    """Runs plans and judges them, each once.

    Args:
        ground: where they run.
        oracles: rules of what is wrong.
        limit_s: seconds of the real clock after which no more plans are tried.

    Attributes:
        oracles: see above.
    """

    def __init__(
        self, ground: Ground, oracles: Mapping[str, Oracle] = ORACLES, *, limit_s: float = 60.0
    ) -> None:
        self._ground = ground
        self.oracles = oracles
        self._ends = monotonic() + limit_s
        self._runs: dict[str, Run] = {}
        self._judged: dict[str, Sequence[Finding]] = {}
        self._names: set[str] = set()

    def judged(self, plan: Plan) -> tuple[Run, Sequence[Finding]]:
        """Return what happens by a plan, and what of that is wrong."""
        run = self.run(plan)
        reference = self.run(plan.undisturbed()) if plan.disturbed else None
        return run, judge(Evidence(run, reference, OPERATOR.name), self.oracles)

    def run(self, plan: Plan) -> Run:
        """Return what happens by a plan; each plan is run once."""
        key = str(plan)
        if key not in self._runs:
            self._runs[key] = self._ground.run(plan)
        return self._runs[key]

    def _fails(self, plan: Plan) -> bool:
        """Whether a plan shows a mistake, and after the first one that does the same mistake."""
        key = str(plan)
        if key not in self._judged:
            if monotonic() > self._ends:
                return False
            try:
                self._judged[key] = self.judged(plan)[1]
            except ForkError as error:
                self._judged[key] = [Finding("no-end", str(error))]
        names = {one.oracle for one in self._judged[key]}
        if names and not self._names:
            # A wrong end is what most mistakes lead to, and says least.
            self._names = names - {"wrong-end"} or names
        return bool(names & self._names)

    @property
    def judgements(self) -> int:
        """How many plans were judged."""
        return len(self._judged)

    def first(self, several: Iterable[Plan], most: int) -> Plan | None:
        """Return the first plan that shows a mistake, None where none of them does.

        Args:
            several: the shortest first.
            most: so many are tried at most.
        """
        return next((one for one in islice(several, most) if self._fails(one)), None)

    def smallest(self, strategy: SearchStrategy[Plan], examples: int, seed: int) -> Plan | None:
        """Return the smallest plan found that shows a mistake, None where none was found.

        Args:
            strategy: draws plans.
            examples: so many at most.
            seed: decides which.
        """
        chosen = settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=ALL_CHECKS,
        )
        try:
            return smallest(strategy, self._fails, settings=chosen, random=seeded(seed).rng)
        except NoSuchExample:
            return None


def habits(ground: Ground, about: Subject, seed: int) -> Habits:
    """Return what the operator does while users make an object, change it and delete it.

    Args:
        ground: where it runs.
        about: the kind that it is for.
        seed: decides the objects.
    """
    drawn: list[Object] = []

    def collect(body: Object) -> bool:
        drawn.append(body)
        return len(drawn) >= LEARNS_FROM

    chosen = settings(database=None, phases=[Phase.generate], suppress_health_check=ALL_CHECKS)
    with suppress(NoSuchExample):
        smallest(about.bodies, collect, settings=chosen, random=seeded(seed).rng)
    steps: list[Step] = [about.create(NAMES[0], drawn[0]), Settle()]
    for body in drawn[1:]:
        steps += [about.change(NAMES[0], body), Settle()]
    run = ground.run(Plan(steps=(*steps, about.delete(NAMES[0]))))
    calls = [call for call in run.calls if call.user == OPERATOR.name]
    return Habits(
        watches=sorted({call.place.resource for call in calls if call.verb == "watch"}),
        writes=sorted(
            {(call.verb, call.place.resource, call.subresource) for call in calls if call.writes}
        ),
    )


def disturbances(known: Habits) -> SearchStrategy[Step]:
    """Draw what goes wrong: faults, watches that are late or break, and deaths of the operator.

    Args:
        known: what the operator does, so that faults are about that.
    """
    few, seconds = st.sampled_from((0, 1, 3)), st.sampled_from((1.0, 5.0, 30.0))
    resource = st.sampled_from([None, *known.watches])
    rules = [
        st.builds(
            lambda about, delay: Rule(fault="watch-delay", resource=about, delay_s=delay),
            resource, seconds,
        ),
        st.builds(lambda about: Rule(fault="watch-stall", resource=about), resource),
        st.builds(
            lambda fault, about, after, count: Rule(
                fault=fault, verb="watch", resource=about, after_events=after, count=count
            ),
            st.sampled_from(("watch-drop", "watch-close", "410")), resource, st.integers(0, 2),
            st.integers(1, 3),
        ),
        st.builds(
            lambda about, delay: Rule(fault="latency", resource=about, delay_s=delay),
            resource, seconds,
        ),
        st.builds(lambda about: Rule(fault="stale", resource=about), resource),
    ]  # fmt: skip
    if known.writes:
        write = st.sampled_from(known.writes)
        # A conflict of a create would tell of an object that is not there.
        changes = [one for one in known.writes if one[0] != "create"]
        conflicts = [st.builds(_refused, st.just("409"), st.sampled_from(changes), few)]
        rules = [
            *(conflicts if changes else ()),
            st.builds(_refused, st.just("429"), write, few),
            st.builds(_refused, st.sampled_from(("500", "503", "504")), write, few),
            *rules,
        ]
    deaths = st.builds(
        lambda writes, down: Crash(writes=writes, down_s=down), st.integers(0, 4), seconds
    )
    return st.one_of(*(one.map(lambda rule: Inject(rule=rule)) for one in rules), deaths)


def _refused(fault: str, write: tuple[str, str, str], count: int) -> Rule:
    """A rule that refuses some writes of the operator; all of them where the count is 0."""
    verb, resource, subresource = write
    return Rule(
        fault=fault,
        verb=verb,
        resource=resource,
        subresource=subresource,
        count=count,
        retry_after_s=RETRY_AFTER_S if fault == "429" else None,
    )


def plans(about: Subject, known: Habits) -> SearchStrategy[Plan]:
    """Draw plans.

    Args:
        about: the kind that the operator is for.
        known: what it does when nothing goes wrong.
    """
    wrong = disturbances(known)
    create = st.builds(about.create, st.just(NAMES[0]), about.bodies, about.finalizers())
    passing = st.sampled_from((Settle(), Move(seconds=1), Move(seconds=10)))
    after = st.one_of(about.users(), wrong, passing)
    return st.builds(
        lambda early, first, late: Plan(steps=(*early, first, *late)),
        st.lists(wrong, max_size=2),
        create,
        st.lists(after, max_size=LONGEST_PLAN - 3),
    )
