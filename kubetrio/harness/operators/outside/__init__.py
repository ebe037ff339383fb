"""Operators in processes of their own, in any language: run by a command, disturbed and judged.

`hunt` needs hypothesis and is in a module of its own.
"""

from kubetrio.harness.operators.outside.attempt import attempt
from kubetrio.harness.operators.outside.program import Program
from kubetrio.harness.operators.outside.trials import Attempt, Pace, Trial

__all__ = ["Attempt", "Pace", "Program", "Trial", "attempt"]
