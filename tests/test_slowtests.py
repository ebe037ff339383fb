"""The list of slow tests names tests that are there, and is made from a run's report."""

from __future__ import annotations

import ast
from pathlib import Path

import slowtests

ROOT = Path(__file__).parent


def functions(path: Path) -> set[str]:
    """Names of all functions of a module."""
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_those_listed_are_there() -> None:
    """So that a test that takes another name does not come into each run unseen."""
    names = [one.partition("::") for one in sorted(slowtests.listed() | slowtests.KEPT)]
    found = {file: functions(ROOT / file) for file, _, _ in names if (ROOT / file).exists()}
    assert [f"{file}::{test}" for file, _, test in names if test not in found.get(file, ())] == []


def test_the_list_is_made_from_a_report(tmp_path: Path) -> None:
    """By function, for all parameters of it; kept are first steps, and tests without a folder."""
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.api.test_verbs" name="test_one" time="0.9"/>
        <testcase classname="tests.api.test_verbs" name="test_many[short]" time="0.2"/>
        <testcase classname="tests.api.test_verbs" name="test_many[long]" time="1.2"/>
        <testcase classname="tests.auth.test_oidc.TestClaims" name="test_in_class" time="3"/>
        <testcase classname="tests.e2e.test_kubectl" name="test_a_new_users_path" time="6"/>
        <testcase classname="tests.test_words" name="test_words" time="6"/>
        <testcase classname="" name="tests.api.test_broken" time="0"/>
        </testsuite></testsuites>"""
    )
    assert slowtests.slow_ones([report]) == [
        "api/test_verbs.py::test_many",
        "auth/test_oidc.py::test_in_class",
    ]
    quicker = tmp_path / "quicker.xml"
    quicker.write_text(report.read_text().replace('"3"', '"0.3"'))
    assert slowtests.slow_ones([report, quicker]) == ["api/test_verbs.py::test_many"]
