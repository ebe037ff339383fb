"""The search for mistakes: what is tried, tried again, and made smaller."""

from __future__ import annotations

import pytest
from simulated_operators import SHELF, Simulated

from kubetrio.harness.operators.outside.hunt import Bounds, Hunt, HuntError
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.report import Report
from kubetrio.harness.operators.outside.trials import Pace, Trial
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Request

ABOUT = subject(SHELF)


def hunt(crew: Simulated, *, runs: int = 30, quiet_s: float | None = None) -> tuple[Report, str]:
    """A report, and what was told meanwhile."""
    lines: list[str] = []
    trial = Trial(program=Program(words=("true",)), plan=Plan())
    bounds = Bounds(runs=runs, limit_s=600, quiet_s=quiet_s)
    hunting = Hunt(crew, trial, ABOUT, bounds=bounds, seed=0, tell=lines.append)
    return hunting.run(), "\n".join(lines)


def test_an_operator_that_is_right_has_nothing_found() -> None:
    """Up to the bound, with drawn plans after the probes."""
    crew = Simulated()
    report, told = hunt(crew, runs=40)
    assert report.mistake is None
    assert str(report) == f"nothing found in {report.runs} runs"
    assert report.runs >= 40
    assert "it does: update shelves/status" in told
    assert "other walks are drawn" in told


def test_a_conflict_that_is_not_tried_again() -> None:
    """It is found by a probe, shows again, and is a plan of two steps."""
    report, told = hunt(Simulated("conflict"))
    assert report.mistake is not None
    assert {one.oracle for one in report.mistake.findings} == {"conflict-not-retried", "wrong-end"}
    fault, request = report.mistake.plan.steps
    assert isinstance(fault, Inject)
    assert isinstance(request, Request)
    assert request.method == "POST"
    assert "it showed again" in told


def test_what_is_left_behind() -> None:
    """It is found by the walk itself, and two requests show it."""
    report, _ = hunt(Simulated("left"))
    assert report.mistake is not None
    assert [one.oracle for one in report.mistake.findings] == ["left-behind"]
    asked = [one.method for one in report.mistake.plan.steps if isinstance(one, Request)]
    assert asked == ["POST", "DELETE"]


def test_what_does_not_show_again_is_not_found() -> None:
    """The operator gets more time after it."""
    crew = Simulated("once")
    report, told = hunt(crew)
    assert report.mistake is None
    assert "it did not show again" in told
    assert report.pace.quiet_s > 0.3


def test_the_pace_is_learned_unless_it_is_given() -> None:
    """Three times the longest pause of the first walk."""
    learned, _ = hunt(Simulated(), runs=3)
    assert learned.pace.quiet_s == pytest.approx(0.3)
    given, _ = hunt(Simulated(), runs=3, quiet_s=1.5)
    assert given.pace.quiet_s == 1.5


def test_confirmations_have_servers_of_their_own_and_more_time() -> None:
    """What else was tried on a server does not count."""
    crew = Simulated("conflict")
    hunt(crew)
    first, *fresh = [one for one in crew.trials if one.fresh]
    assert str(first.plan) == str(crew.trials[0].plan)
    assert fresh
    assert all(one.pace.quiet_s >= Pace().quiet_s for one in fresh)
    assert any(not one.fresh for one in crew.trials)


@pytest.mark.parametrize(
    ("mistake", "told"), [("idle", "wrote nothing while"), ("deaf", "KUBECONFIG names")]
)
def test_an_operator_that_does_nothing(mistake: str, told: str) -> None:
    """One line says what to look at."""
    with pytest.raises(HuntError, match=told):
        hunt(Simulated(mistake))


def test_a_plan_is_repeated() -> None:
    """With what it is compared with."""
    found = hunt(Simulated("conflict"))[0].mistake
    assert found is not None
    trial = Trial(program=Program(words=("true",)), plan=Plan())
    for mistake in ("conflict", ""):
        crew = Simulated(mistake)
        hunting = Hunt(crew, trial, ABOUT, bounds=Bounds(), seed=0)
        report = hunting.repeat(found.plan)
        assert (report.mistake is None) == (not mistake)
        assert report.runs == 2
