"""`kubetrio fuzz-operator` with an operator in shell and kubectl, right and with a mistake."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "fuzz-any-operator.md").read_text()
DEFINITION = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
AGAIN = "until put; do sleep 0.2; done  # it is tried again"
OPERATOR = """\
# Keeps a ConfigMap for each Shelf, which says how many books it has and goes with it.
columns=TYPE:.type,NAME:.object.metadata.name,UID:.object.metadata.uid,BOOKS:.object.spec.books
put() {
    kubectl apply --server-side --validate=false -f - <<END
{"apiVersion": "v1", "kind": "ConfigMap",
 "metadata": {"name": "shelf-$name", "namespace": "default", "ownerReferences": [
   {"apiVersion": "example.com/v1", "kind": "Shelf", "name": "$name", "uid": "$uid"}]},
 "data": {"books": "$books"}}
END
}
while true; do
    kubectl get shelves -n default --watch --output-watch-events --no-headers \\
        -o custom-columns=$columns |
    while read -r type name uid books; do
        if [ "$type" != DELETED ]; then
            until put; do sleep 0.2; done  # it is tried again
        fi
    done
    sleep 0.2
done
"""


def fuzzed(folder: Path, operator: str, runs: int) -> tuple[int, str, set[str], int]:
    """Exit code and output of the command, the rules that told of something, and steps of the plan.

    Args:
        folder: empty.
        operator: the script.
        runs: so many at most.
    """
    (folder / "shelf.yaml").write_text(DEFINITION)
    (folder / "operator.sh").write_text(operator)
    command = [sys.executable, "-m", "kubetrio", "fuzz-operator", "--crd", "shelf.yaml"]
    command += [
        "--runs",
        str(runs),
        "--limit",
        "10m",
        "--quiet",
        "1500ms",
        "--report",
        "report.json",
    ]
    done = subprocess.run(
        [*command, "--", "sh", "operator.sh"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    assert (folder / "report.json").exists(), printed
    report = json.loads((folder / "report.json").read_text())
    return (
        done.returncode,
        printed,
        {one["rule"] for one in report["found"]},
        len(report.get("plan", ())),
    )


def test_the_right_one_passes(tmp_path: Path) -> None:
    """Whatever goes wrong."""
    code, printed, rules, _ = fuzzed(tmp_path, OPERATOR, 12)
    assert (code, rules) == (0, set()), printed


def test_one_that_does_not_try_again_is_told_of(tmp_path: Path) -> None:
    """In a plan of few steps."""
    assert AGAIN in OPERATOR
    code, printed, rules, steps = fuzzed(tmp_path, OPERATOR.replace(AGAIN, "put"), 30)
    assert code == 1, printed
    assert rules & {"conflict-not-retried", "refusal-not-retried"}, printed
    assert steps < 6
