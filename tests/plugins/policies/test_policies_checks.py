"""What comes of expressions of policies is counted as kube-apiserver counts it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kubetrio.plugins.policies.checks import MUTATING, VALIDATING, PolicyChecks, error_type


class Binding(NamedTuple):
    """A binding."""

    name: str


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("", "no_error"),
        ("failed expression: false", "invalid_error"),
        ("compilation error: compilation failed: x", "compile_error"),
        ("validation failed due to running out of cost budget, no further", "out_of_budget"),
    ],
)
def test_errors_of_validations_are_told_by_how_they_begin(message: str, kind: str) -> None:
    """A refusal is one of the policy, and still ``invalid_error``."""
    assert error_type(message, validates=True) == kind


def samples(checks: PolicyChecks) -> dict[tuple[str, ...], float]:
    return {
        (one.name, *one.labels.values()): one.value
        for family in checks.families()
        for one in family.samples
        if one.name.endswith(("_total", "_count"))
    }


def test_each_action_of_a_binding_counts() -> None:
    """In lower case, as the label has them."""
    checks = PolicyChecks(VALIDATING)
    for action in ("Deny", "Audit"):
        checks.count("p", Binding("b"), "failed expression: x", 0.01, action)
    prefix = "apiserver_validating_admission_policy_check"
    assert samples(checks) == {
        (f"{prefix}_total", "p", "b", "invalid_error", "deny"): 1,
        (f"{prefix}_total", "p", "b", "invalid_error", "audit"): 1,
        (f"{prefix}_duration_seconds_count", "p", "b", "invalid_error", "deny"): 1,
        (f"{prefix}_duration_seconds_count", "p", "b", "invalid_error", "audit"): 1,
    }


def test_mutations_count_by_error() -> None:
    """Without an action."""
    checks = PolicyChecks(MUTATING)
    checks.count("p", Binding("b"), "", 0.01)
    name = "apiserver_mutating_admission_policy_check_total"
    assert samples(checks)[name, "p", "b", "no_error"] == 1
