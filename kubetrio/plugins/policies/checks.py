"""What came of the expressions of admission policies, as metrics.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/metrics and .../mutating/metrics for
names, labels, buckets, and what is counted: of validations only those that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kubetrio.observe import prometheus
from kubetrio.observe.series import Labels, Timings, counter

BUCKETS = (5e-07, 0.001, 0.01, 0.1, 1.0)
VALIDATING, MUTATING = "validating", "mutating"
_LABELS = {
    VALIDATING: ("policy", "policy_binding", "error_type", "enforcement_action"),
    MUTATING: ("policy", "policy_binding", "error_type"),
}
_BUDGET = "validation failed due to running out of cost budget"


class Named(Protocol):
    """A binding, of which the name is wanted."""

    @property
    def name(self) -> str:
        """It."""
        ...


def error_type(message: str, *, validates: bool) -> str:
    """Which error a message is, as kube-apiserver tells from how it begins."""
    if not message:
        return "no_error"
    if message.startswith("compilation") or (not validates and "compilation" in message):
        return "compile_error"
    if message.startswith(_BUDGET) or (not validates and "budget" in message):
        return "out_of_budget"
    return "invalid_error"


class PolicyChecks:
    """Counts of the policies of one server.

    Args:
        which: `VALIDATING` or `MUTATING`.
    """

    def __init__(self, which: str) -> None:
        self._validates = which == VALIDATING
        self._name = f"apiserver_{which}_admission_policy_check"
        self._labels = _LABELS[which]
        self._times = Timings(
            f"{self._name}_duration_seconds",
            "Seconds of expressions of policies.",
            *self._labels,
            bounds=BUCKETS,
        )

    def count(
        self, policy: str, binding: Named | None, error: str, took_s: float, action: str = ""
    ) -> None:
        """Count one expression.

        Args:
            policy: its name.
            binding: by which it applies.
            error: what went wrong, or why a request is refused.
            took_s: seconds.
            action: what is done about it, of validations.
        """
        kind = error_type(error, validates=self._validates)
        labels: Labels = (policy, binding.name if binding else "", kind)
        if self._validates:
            labels = (*labels, action.lower())
        self._times[labels].observe(took_s)

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        counts: dict[Labels, float] = {
            labels: sum(one.counts) for labels, one in list(self._times.items())
        }
        text = "Expressions of policies, by what came of them."
        yield from counter(f"{self._name}_total", text, self._labels, counts)
        yield from self._times.families()
