"""The page about specs says of each scenario that it passed, and of nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import test_specs_api
import test_specs_apps
import test_specs_budgets
import test_specs_crons
import test_specs_daemons
import test_specs_deployments
import test_specs_garbage
import test_specs_jobs
import test_specs_lives
import test_specs_machinery
import test_specs_nodes
import test_specs_predicates
import test_specs_scaling
import test_specs_scheduling
import test_specs_serving
import test_specs_sets
import test_specs_stateful
import test_specs_volumes

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "specs.md"
ROW = re.compile(r"^\| (?!spec \||--)(.+) \| (.+) \|$", re.MULTILINE)
COUNTS = re.compile(r"Of (\d+), (\d+) passed\.")
OF_MODULES = [
    test_specs_api.SPECS,
    test_specs_apps.SPECS,
    test_specs_budgets.SPECS,
    test_specs_crons.SPECS,
    test_specs_daemons.SPECS,
    test_specs_deployments.SPECS,
    test_specs_garbage.SPECS,
    test_specs_jobs.SPECS,
    test_specs_lives.SPECS,
    test_specs_machinery.SPECS,
    test_specs_nodes.SPECS,
    test_specs_predicates.SPECS,
    test_specs_scaling.SPECS,
    test_specs_scheduling.SPECS,
    test_specs_serving.SPECS,
    test_specs_sets.SPECS,
    test_specs_stateful.SPECS,
    test_specs_volumes.SPECS,
]


def test_what_passed_is_a_scenario() -> None:
    """By title, and the numbers are those of the table."""
    rows = ROW.findall(PAGE.read_text())
    assert len({title for title, _ in rows}) == len(rows)
    passed = {title for title, outcome in rows if outcome == "passed"}
    titles = [title for specs in OF_MODULES for title in specs]
    assert len(set(titles)) == len(titles)
    assert passed == set(titles)
    counts = COUNTS.search(PAGE.read_text())
    assert counts is not None
    assert (int(counts[1]), int(counts[2])) == (len(rows), len(passed))
