"""Operators in processes of their own, in any language: run by a command, disturbed and judged.

`hunt` needs hypothesis and is in a module of its own.
"""

from kubetrio.harness.operators.outside.attempt import Attempt, Pace, Trial, attempt
from kubetrio.harness.operators.outside.program import Program

__all__ = ["Attempt", "Pace", "Program", "Trial", "attempt"]
