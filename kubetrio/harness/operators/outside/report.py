"""What a hunt has found, in words and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio import __version__
from kubetrio.harness.operators.calls import Call
from kubetrio.harness.operators.oracles import Finding
from kubetrio.harness.operators.outside.trials import Attempt, Pace
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.singles import Habits

FORMAT = "kubetrio-operator-report/1"
SHOWN_CALLS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A plan by which an operator does something wrong.

    Args:
        plan: the smallest that was found.
        findings: what it does wrong.
        run: what happened.
    """

    plan: Plan
    findings: Sequence[Finding]
    run: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a hunt ended.

    Args:
        mistake: what the operator does wrong; None for nothing.
        habits: what it does when nothing goes wrong; None where that was not looked at.
        pace: how long was waited for it.
        seed: that decided what was tried.
        runs: how many there were.
        seconds: how long they took.
        repeat: the command that repeats the run that was found; empty without one.
    """

    mistake: Found | None
    habits: Habits | None
    pace: Pace
    seed: int
    runs: int
    seconds: float
    repeat: str = ""

    def __str__(self) -> str:
        if self.mistake is None:
            return f"nothing found in {self.runs} runs"
        mistake = self.mistake
        telling = _telling(mistake.run)
        left = len(telling) - SHOWN_CALLS
        return "\n".join(
            [
                "What the operator did wrong:", *map(str, mistake.findings),
                "", "By this plan:", str(mistake.plan),
                "", "Writes and failures:", *map(str, telling[:SHOWN_CALLS]),
                *([f"and {left} more"] if left > 0 else []),
                *(["", "Repeat it with:", self.repeat] if self.repeat else []),
            ]
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it; times are seconds."""
        shown: dict[str, Any] = {
            "format": FORMAT,
            "kubetrio": __version__,
            "seed": self.seed,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "quiet": round(self.pace.quiet_s, 3),
            "patience": self.pace.patience_s,
            "found": [],
        }
        if self.habits is not None:
            shown["watches"] = list(self.habits.watches)
            shown["writes"] = [list(one) for one in self.habits.writes]
        if self.mistake is not None:
            mistake = self.mistake
            shown |= {
                "found": [{"rule": one.oracle, "text": one.text} for one in mistake.findings],
                "plan": mistake.plan.as_list(),
                "repeat": self.repeat,
                "calls": [_call(one) for one in _telling(mistake.run)],
            }
        return shown


def _telling(run: Attempt) -> list[Call]:
    """Writes and failures."""
    return [call for call in run.calls if call.writes or not call.done]


def _call(call: Call) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "at": round(call.at, 3), "user": call.user, "verb": call.verb,
        "object": str(call.place), "status": call.status,
    }  # fmt: skip
    if call.subresource:
        shown["subresource"] = call.subresource
    if call.fault:
        shown["fault"] = call.fault
    return shown
