"""Tests that take over half a second, which the README's run leaves out: ``tests/slow.txt``.

``python tests/slowtests.py REPORT.xml …`` makes that list anew from runs of all tests with
``--junitxml=REPORT.xml``, on a machine that does nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from math import inf
from pathlib import Path
from xml.etree import ElementTree as ET

HERE = Path(__file__).parent
LIST = HERE / "slow.txt"
SECONDS = 0.5
FILE = re.compile(r"tests\.((?:\w+\.)*?test_\w+)")  # without the class in it

KEPT = frozenset(
    {
        "e2e/test_clients.py::test_a_page_in_a_browser",
        "e2e/test_clients.py::test_clients_of_python",
        "e2e/test_first_steps.py::test_the_controller",
        "e2e/test_first_steps.py::test_the_device",
        "e2e/test_first_steps.py::test_the_first_cluster",
        "e2e/test_first_steps.py::test_the_tested_operator",
        "e2e/test_kubectl.py::test_a_new_users_path",
        "e2e/test_operators.py::test_a_kopf_operator_works",
        "e2e/test_shutdown.py::test_the_first_signal_ends_it_in_order",
    }
)
"""What each run tries, long as it takes: the first steps of users, with clients of others."""


@cache
def listed() -> frozenset[str]:
    """Names of slow tests: the file's path in ``tests``, and the function's name."""
    return frozenset(LIST.read_text().splitlines())


def slow_ones(reports: Iterable[Path]) -> list[str]:
    """Functions that take over half a second with one of their parameters, in the quickest of runs.

    Args:
        reports: of runs, as pytest writes them for JUnit; tests that are gone are left out.
    """
    least: dict[tuple[str, str], float] = {}
    for report in reports:
        for case in ET.parse(report).iter("testcase"):
            at = (case.get("classname", ""), case.get("name", ""))
            least[at] = min(float(case.get("time", 0)), least.get(at, inf))
    slow = {_named(*at) for at, seconds in least.items() if seconds > SECONDS}
    # those without a folder hold the rules of the text
    return sorted(name for name in slow - KEPT if "/" in name and is_there(name))


def is_there(name: str) -> bool:
    """Whether there is a test of this name."""
    path, _, function = name.partition("::")
    return (HERE / path).exists() and f"def {function}(" in (HERE / path).read_text()


def _named(classname: str, name: str) -> str:
    found = FILE.match(classname)
    path = found[1].replace(".", "/") if found else classname
    return f"{path}.py::{name.partition('[')[0]}"


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in slow_ones(map(Path, sys.argv[1:]))))
