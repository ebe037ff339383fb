"""Operators on servers of the harness: what goes wrong with them, found and told in words.

`explore` and `walk`, which need hypothesis, are in modules of their own.
"""

from kubetrio.harness.operators.calls import OPERATOR, Call, Place
from kubetrio.harness.operators.ground import Ground, PrepareError, open_ground
from kubetrio.harness.operators.oracles import ORACLES, Evidence, Finding, judge
from kubetrio.harness.operators.plans import Crash, Plan
from kubetrio.harness.operators.runs import FOREIGN, Run, Terms, run_plan

__all__ = [
    "FOREIGN",
    "OPERATOR",
    "ORACLES",
    "Call",
    "Crash",
    "Evidence",
    "Finding",
    "Ground",
    "Place",
    "Plan",
    "PrepareError",
    "Run",
    "Terms",
    "judge",
    "open_ground",
    "run_plan",
]
