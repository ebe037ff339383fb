"""``kubetrio faults``: words to rules, and a server that runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.cli.common import Failure
from kubetrio.cli.faults import rule_of
from kubetrio.faults import Rule
from kubetrio.testing.process import ServerProcess

MEND = "start it with kubetrio serve --fault-injection"
Start = Callable[..., ServerProcess]


def test_words_are_fields() -> None:
    """Criteria are lists, numbers numbers; what the server takes."""
    words = ["fault=409", "verb=update,patch", "count=2", "probability=0.5", "subresource="]
    rule = rule_of(words)
    assert rule == {
        "fault": "409", "verb": ["update", "patch"], "count": 2, "probability": 0.5,
        "subresource": [""],
    }  # fmt: skip
    assert Rule.of(rule).verb == ("update", "patch")


@pytest.mark.parametrize(
    ("word", "why"),
    [("409", "'409' is not FIELD=VALUE"), ("count=two", "'count=two': 'two' is no number")],
)
def test_other_words_are_refused(word: str, why: str) -> None:
    """In one line."""
    with pytest.raises(Failure, match=why):
        rule_of([word])


@pytest.mark.e2e
def test_faults_of_a_server_that_runs(start_server: Start, tmp_path: Path) -> None:
    """Added, listed and cleared; a server that was not asked for it says what to do."""
    data = tmp_path / "data"

    def faults(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "kubetrio", "faults", *words, "--data-dir", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stdout, done.stderr

    usual = start_server(data)
    assert faults("list") == (
        1,
        "",
        f"kubetrio: the server injects no faults: {MEND}\n",
    )
    usual.stop()
    file = tmp_path / "faults.yaml"
    file.write_text("- {fault: 503, id: down, resource: pods, count: 3}\n")
    start_server(data, "--faults", str(file))
    code, out, _ = faults("add", "fault=latency", "delay=2s", "user=robot,other")
    assert (code, out.split("\n")[1].split()) == (
        0, ["fault-1", "latency", "0", "0", "user=robot,other", "delay=2.0"],
    )  # fmt: skip
    assert faults("add", "fault=x")[2].startswith("kubetrio: fault: there is no 'x'")
    assert faults("clear", "fault-1") == (0, "", "")
    assert faults("list")[1] == (
        "ID    FAULT  SEEN  INJECTED  RULE\ndown  503    0     0         resource=pods count=3\n"
    )
    assert faults("clear") == (0, "", "")
    assert faults("list")[1].splitlines() == ["ID  FAULT  SEEN  INJECTED  RULE"]
