"""The search for what an operator in a process of its own does wrong.

A run takes seconds, for the operator's time is real, and so each has to tell much.  First the
operator is watched on a walk through states of its objects; then one thing after another goes wrong
at the points that the walk has shown; then other walks and plans are drawn.  A mistake counts when
it shows again and more time is given; then its plan is made smaller.

Needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from kubetrio.env import monotonic, seeded
from kubetrio.harness.operators.calls import OPERATOR
from kubetrio.harness.operators.exploring import plans
from kubetrio.harness.operators.oracles import Evidence, Finding, judge
from kubetrio.harness.operators.outside.crew import Crew
from kubetrio.harness.operators.outside.drawing import drawn
from kubetrio.harness.operators.outside.probes import (
    RETRY_AFTER_S,
    Probe,
    bodies,
    foreign,
    habits,
    probes,
    story,
)
from kubetrio.harness.operators.outside.reducing import (
    about_one,
    length,
    performed,
    shorter,
    trimmed,
)
from kubetrio.harness.operators.outside.report import Found, Report
from kubetrio.harness.operators.outside.trials import Attempt, Pace, Trial
from kubetrio.harness.operators.outside.wants import strays
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.runs import Run
from kubetrio.harness.operators.singles import Habits
from kubetrio.harness.operators.subjects import Subject
from kubetrio.harness.script import Inject, Request

LEAST_QUIET_S, MOST_QUIET_S = 0.25, 2.0
PAUSES = 3.0
"""So many times its longest pause, and the operator counts as at rest."""
SLOWER = 1.5
"""So much more time an operator gets that did not show a mistake again."""
SHRINKS_S = 60.0
"""A plan is made smaller for so long at least; else for half of the time of a hunt."""
DRAWN_PLANS = 8
"""So many plans are drawn for each further walk."""


class HuntError(ValueError):
    """An operator that cannot be tried; one line with the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long a hunt goes on.

    Args:
        runs: so many runs at most, before a mistake is found.
        limit_s: real seconds after which nothing new is tried.
        quiet_s: see `Pace`; learned of the operator when None.
    """

    runs: int = 100
    limit_s: float = 120.0
    quiet_s: float | None = None


class Judged(NamedTuple):
    """A run and what is wrong with it.

    Args:
        run: what happened.
        findings: what of that is wrong.
    """

    run: Attempt
    findings: Sequence[Finding]

    @property
    def names(self) -> set[str]:
        """Rules that say so; a wrong end is what most mistakes lead to, and counts alone."""
        names = {one.oracle for one in self.findings}
        return names - {"wrong-end"} or names


class Hunt:
    """Looks for what an operator does wrong.

    Args:
        crew: tries it.
        trial: how it is tried; its plan does not count.
        about: the kind that it is for.
        bounds: how long.
        seed: decides what is tried.
        tell: is told what goes on, in a line.
        progress: is told how many of how many runs are done.
    """

    def __init__(
        self,
        crew: Crew,
        trial: Trial,
        about: Subject,
        *,
        bounds: Bounds,
        seed: int,
        tell: Callable[[str], None] = lambda _: None,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        self._crew = crew
        self._trial = trial
        self._about = about
        self._bounds = bounds
        self._seed = seed
        self._tell = tell
        self._progress = progress
        self._began = monotonic()
        self._ends = self._began + bounds.limit_s
        self._references: dict[str, Attempt] = {}
        self._habits: Habits | None = None
        self._pace = replace(trial.pace, quiet_s=bounds.quiet_s or trial.pace.quiet_s)

    def run(self) -> Report:
        """Look until something is found or the bounds are reached.

        Raises:
            HuntError: the operator cannot be tried.
            CrewError: the server cannot be made as the trial says.
        """
        return self._report(self._search())

    def repeat(self, plan: Plan) -> Report:
        """Do one plan.

        Raises:
            HuntError: the operator cannot be tried.
            CrewError: as `run`.
        """
        done = self._tried(Probe(plan=plan), self._patient())
        self._check_heard(done.run)
        mistake = Found(plan=plan, findings=done.findings, run=done.run) if done.findings else None
        return self._report(mistake)

    def _report(self, found: Found | None) -> Report:
        return Report(
            mistake=found,
            habits=self._habits,
            pace=self._pace,
            seed=self._seed,
            runs=self._crew.runs,
            seconds=monotonic() - self._began,
        )

    # ------------------------------------------------------------------ the search

    def _search(self) -> Found | None:
        rng = seeded(self._seed).rng
        three = bodies(self._about, rng)
        walk = self._learn(story(self._about, three))
        mistake = self._suspected(walk)
        known = self._habits = habits(walk.run)
        if mistake is None:
            self._tell(_told(known, self._pace))
            lost = Probe(plan=foreign(self._about, three))
            mistake = self._first([lost, *probes(walk.run, known, rng)])
        while mistake is None and not self._over():
            self._tell("all that the walk has shown was tried; other walks are drawn")
            three = bodies(self._about, rng)
            several = drawn(plans(self._about, known), DRAWN_PLANS, rng)
            walks = [story(self._about, three), *map(_hasty, several)]
            mistake = self._first([Probe(plan=plan) for plan in walks])
        return mistake

    def _learn(self, plan: Plan) -> Judged:
        """See what the operator does when nothing goes wrong, and how long it takes for it.

        Raises:
            HuntError: it does nothing.
        """
        self._tell("the operator is watched on a walk through states of its objects")
        walk = self._tried(Probe(plan=plan), self._pace)
        self._check_heard(walk.run)
        if not (walk.findings or self._tells(walk.run, plan)):
            self._pace = self._patient()
            walk = self._tried(Probe(plan=plan), self._pace)
            self._check_writes(walk, plan)
        if self._bounds.quiet_s is None:
            quiet_s = min(max(PAUSES * walk.run.longest_pause_s, LEAST_QUIET_S), MOST_QUIET_S)
            limit_s = max(6 * quiet_s, self._pace.limit_s / 2)
            self._pace = replace(self._pace, quiet_s=quiet_s, limit_s=limit_s)
        return walk

    @staticmethod
    def _tells(run: Attempt, plan: Plan) -> bool:
        """Whether a walk was walked to its end and the operator wrote something."""
        asked = sum(isinstance(one, Request) for one in plan.steps)
        return len(run.answers) == asked and bool(habits(run).writes)

    def _check_writes(self, walk: Judged, plan: Plan) -> None:
        """See that a walk tells what the operator does.

        Raises:
            HuntError: it does not.
        """
        if walk.findings or self._tells(walk.run, plan):
            return
        if not habits(walk.run).writes:
            raise HuntError(
                "the operator wrote nothing while its objects were made, changed and deleted: is "
                "it that of the kind? --quiet gives it more time after each change"
            )
        raise HuntError(
            f"the operator did not come to rest within {self._pace.limit_s:g} s of a change: does "
            "it ask for something new again and again?"
        )

    def _check_heard(self, run: Attempt) -> None:
        """See that the operator has talked to the server.

        Raises:
            HuntError: it has not.
        """
        if any(call.user == OPERATOR.name for call in run.calls):
            return
        if run.crashes:
            raise HuntError(f"the operator asked for nothing: {run.crashes[0]}")
        raise HuntError(
            "the operator asked the server for nothing: the command has to use the kubeconfig "
            "that KUBECONFIG names"
        )

    def _over(self) -> bool:
        return self._crew.runs >= self._bounds.runs or monotonic() > self._ends

    def _first(self, several: Sequence[Probe]) -> Found | None:
        """Return the first mistake that probes show.

        Args:
            several: in the order in which they count.
        """
        left = list(several)
        while left:
            tried = 0
            suspect: Judged | None = None
            with closing(self._judge(left, self._pace, within=True)) as judging:
                for one in judging:
                    tried += 1
                    if one.findings:
                        suspect = one
                        break
            if suspect is None:
                return None
            if mistake := self._suspected(suspect, left[tried - 1].reference):
                return mistake
            left = left[tried:]
        return None

    # ------------------------------------------------------------------ runs

    def _of(self, plan: Plan, pace: Pace, reference: Run | None, *, fresh: bool) -> Trial:
        expected = None if reference is None else reference.after
        return replace(self._trial, plan=plan, pace=pace, expected=expected, fresh=fresh)

    def _judge(
        self, several: Sequence[Probe], pace: Pace, *, within: bool = False, fresh: bool = False
    ) -> Generator[Judged]:
        """Do plans, and what they are compared with; say what is wrong.

        Args:
            several: the plans; those with faults and without a reference get one.
            pace: how long is waited.
            within: whether to stop at the bounds.
            fresh: whether each has a server of its own.
        """
        usual = {
            str(one.plan.undisturbed()): one.plan.undisturbed()
            for one in several
            if one.plan.disturbed and one.reference is None
        }
        missing = [plan for key, plan in usual.items() if key not in self._references]
        undisturbed = self._crew.each(self._of(plan, pace, None, fresh=fresh) for plan in missing)
        for plan, run in zip(missing, undisturbed, strict=True):
            self._references[str(plan)] = run
        references = [
            self._references[str(one.plan.undisturbed())]
            if one.plan.disturbed and one.reference is None
            else one.reference
            for one in several
        ]
        trials = (
            self._of(one.plan, pace, reference, fresh=fresh)
            for one, reference in zip(several, references, strict=True)
        )
        chosen = takewhile(lambda _: not (within and self._over()), trials)
        with closing(self._crew.each(chosen)) as runs:
            for run, reference in zip(runs, references, strict=False):
                self._progress(self._crew.runs, self._bounds.runs)
                yield self._judged(run, reference)

    def _tried(self, probe: Probe, pace: Pace) -> Judged:
        """Do a plan on a server of its own, so that what was tried before does not count."""
        [judged] = self._judge([probe], pace, fresh=True)
        return judged

    def _judged(self, run: Attempt, reference: Run | None) -> Judged:
        findings = judge(Evidence(run, reference, OPERATOR.name))
        return Judged(run, findings or (strays(run) if reference is None else []))

    def _patient(self) -> Pace:
        """How long is waited where a mistake has to show again."""
        pace, usual = self._pace, Pace()
        return replace(
            pace,
            quiet_s=max(3 * pace.quiet_s, usual.quiet_s),
            limit_s=max(3 * pace.limit_s, usual.limit_s),
        )

    # ------------------------------------------------------------------ what is found

    def _suspected(self, first: Judged, reference: Run | None = None) -> Found | None:
        """Return a mistake when it shows again, with a smaller plan; None when it does not."""
        if not first.findings:
            return None
        plan = performed(first.run)
        self._tell(f"{first.findings[0]}")
        self._tell("this is tried again, with more time")
        again = self._tried(Probe(plan=plan, reference=reference), self._patient())
        names = first.names & again.names
        if not names:
            self._tell("it did not show again; the operator gets more time from now on")
            quiet_s = min(SLOWER * self._pace.quiet_s, MOST_QUIET_S)
            self._pace = replace(self._pace, quiet_s=quiet_s)
            return None
        self._tell("it showed again; a smaller plan is looked for")
        small = self._shrunk(plan, names)
        if small != plan:
            shown = self._tried(Probe(plan=small), self._patient())
            if names & shown.names:
                plan, again = small, shown
        return Found(plan=trimmed(plan), findings=again.findings, run=again.run)

    def _shrunk(self, plan: Plan, names: set[str]) -> Plan:
        """Leave steps out as long as a mistake shows."""
        until = monotonic() + max(SHRINKS_S, self._bounds.limit_s / 2)
        plan = self._showing(about_one(plan), names) or plan
        known: set[str] = set()
        size = max(1, length(plan) // 2)
        while size and monotonic() < until:
            new = [one for one in shorter(plan, size) if str(one) not in known]
            known.update(map(str, new))
            smaller = self._showing(new, names)
            if smaller is None:
                size //= 2
            else:
                plan = smaller
                size = min(size, length(plan) // 2) or 1
        return plan

    def _showing(self, several: Sequence[Plan], names: set[str]) -> Plan | None:
        """Return the first plan by which a mistake shows."""
        pace = replace(self._pace, patience_s=min(self._pace.patience_s, 4 * self._pace.quiet_s))
        probes = [Probe(plan=plan) for plan in several]
        with closing(self._judge(probes, pace)) as judging:
            return next((one.run.plan for one in judging if names & one.names), None)


def _hasty(plan: Plan) -> Plan:
    """A plan whose 429 name a time that is short in reality."""
    steps = [
        Inject(rule=replace(one.rule, retry_after_s=RETRY_AFTER_S))
        if isinstance(one, Inject) and one.rule is not None and one.rule.fault == "429"
        else one
        for one in plan.steps
    ]
    return Plan(steps=tuple(steps))


def _told(known: Habits, pace: Pace) -> str:
    """What was learned, in a line."""
    writes = ", ".join(
        f"{verb} {resource}{f'/{below}' if below else ''}" for verb, resource, below in known.writes
    )
    return (
        f"it watches {', '.join(known.watches) or 'nothing'}; it does: {writes or 'nothing'}; "
        f"it is at rest when it has asked for nothing new for {pace.quiet_s:.2f} s"
    )
