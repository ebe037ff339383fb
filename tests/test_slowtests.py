"""The list of slow tests names tests that are there, and is made from a run's report."""

from __future__ import annotations

from pathlib import Path

import slowtests

FETCHED = "test_they_are_fetched_with_the_token_for_them"


def test_those_listed_are_there() -> None:
    """So that a test that takes another name does not come into each run unseen."""
    names = slowtests.listed() | slowtests.KEPT
    assert [name for name in sorted(names) if not slowtests.is_there(name)] == []


def test_the_list_is_made_from_a_report(tmp_path: Path) -> None:
    """By function, for all parameters of it; kept are first steps, and tests without a folder."""
    cases = [
        ("tests.api.test_verbs", "test_what_a_deletion_answers", 0.4),
        ("tests.api.test_verbs", "test_a_deleted_pod_is_shown[short]", 0.2),
        ("tests.api.test_verbs", "test_a_deleted_pod_is_shown[long]", 1.2),
        ("tests.auth.test_oidc.TestDistributedClaims", FETCHED, 3),
        ("tests.auth.test_oidc", "test_that_is_gone", 3),
        ("tests.e2e.test_kubectl", "test_a_new_users_path", 6),
        ("tests.test_words", "test_replaced_names_stay_gone", 6),
        ("", "tests.api.test_verbs", 0),
    ]
    lines = (f'<testcase classname="{one}" name="{name}" time="{s}"/>' for one, name, s in cases)
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")
    assert slowtests.slow_ones([report]) == [
        "api/test_verbs.py::test_a_deleted_pod_is_shown",
        f"auth/test_oidc.py::{FETCHED}",
    ]
    quicker = tmp_path / "quicker.xml"
    quicker.write_text(report.read_text().replace('"3"', '"0.3"'))
    assert slowtests.slow_ones([report, quicker]) == [
        "api/test_verbs.py::test_a_deleted_pod_is_shown"
    ]
