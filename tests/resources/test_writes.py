"""Targets and delete options."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target, delete_options, dry_run_causes


def test_keys_of_targets() -> None:
    """Namespaced objects live below their namespace."""
    resources = registry().resources
    pods, nodes = resources["", "v1", "pods"], resources["", "v1", "nodes"]
    assert Target(resource=pods, namespace="ns", name="p").key == pods.key("ns", "p")
    assert Target(resource=nodes, namespace="", name="n").key == nodes.storage_prefix + "n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, DeleteOptions()),
        ({"gracePeriodSeconds": 0}, DeleteOptions(grace_period_s=0)),
        ({"propagationPolicy": "Foreground"}, DeleteOptions(propagation="Foreground")),
        ({"orphanDependents": True}, DeleteOptions(propagation="Orphan")),
        ({"orphanDependents": False}, DeleteOptions(propagation="Background", waits=True)),
        ({"dryRun": ["All"]}, DeleteOptions(dry_run=True)),
        ({"dryRun": ["All", "All"]}, DeleteOptions(dry_run=True)),
        (
            {"preconditions": {"uid": "u", "resourceVersion": "5"}},
            DeleteOptions(uid="u", resource_version="5"),
        ),
        ({"preconditions": {"uid": None}}, DeleteOptions()),
    ],
)
def test_options_that_are_fine(raw: dict[str, Any], expected: DeleteOptions) -> None:
    """Each member has its meaning; the old word for propagation is understood."""
    assert delete_options(raw) == expected


def test_the_query_decides_about_dry_runs_where_it_is_asked() -> None:
    """Evictions have it in both places."""
    assert delete_options({}, dry_run=["All"]).dry_run
    assert not delete_options({"dryRun": ["All"]}, dry_run=[]).dry_run


# Each row is as a kube-apiserver answered it.
@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            {"dryRun": ["Some"]},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: '
                'supported values: "All"'
            ),
        ),
        (
            {"dryRun": ["a\nb", "<"]},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: '
                '["a\\nb","\\u003c"]: supported values: "All"'
            ),
        ),
        (
            {"propagationPolicy": "Sideways"},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: '
                '"Sideways": supported values: "Foreground", "Background", "Orphan", "nil"'
            ),
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid '
                'value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set"
            ),
        ),
    ],
)
def test_options_that_are_not(raw: dict[str, Any], message: str) -> None:
    """422 in kube-apiserver's words."""
    with pytest.raises(ApiError) as caught:
        delete_options(raw)
    assert (caught.value.code, caught.value.message) == (422, message)


@pytest.mark.parametrize(
    ("values", "good"),
    [([], True), (["All"], True), (["All", "All"], True), (["All", "Some"], False), ([""], False)],
)
def test_dry_run_values(values: list[str], good: bool) -> None:
    """Only ``All``, however often."""
    assert (not dry_run_causes(values)) is good


def test_reading_errors_are_never_ignored() -> None:
    """The feature is off: its option does nothing, and may stand beside any other."""
    raw = {
        "dryRun": ["All"],
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
    }
    ignoring = {**raw, "ignoreStoreReadErrorWithClusterBreakingPotential": True}
    assert delete_options(ignoring) == delete_options(raw)
