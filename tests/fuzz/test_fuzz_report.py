"""The page of runs: one file, with all that was run."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fuzz.__main__ import main as fuzz
from fuzz.report import ReportError, main, page

FACTS = {"kubetrio": "0.1.0", "python": "CPython 3.13.0"}
RUN = {
    "what": "fuzz",
    "facts": FACTS,
    "seed": 7,
    "ran": [
        {"target": "json", "invariant": "Halves agree.", "seed": 7, "rounds": 2, "cpu_s": 1.5,
         "executions": 12345, "found": ["json --seed 8: <b>"], "course": [[1, 90, 1], [2, 91, 1]]},
    ],
}  # fmt: skip
PLANTED = {
    "what": "planted",
    "facts": FACTS,
    "seed": 1,
    "bugs": [{"name": "gap", "what": "A gap.", "by": "api", "executions": 9, "cpu_s": 0.5},
             {"name": "leak", "what": "A leak.", "by": "", "executions": 9, "cpu_s": 60.0}],
}  # fmt: skip
DETERMINISM = {
    "what": "determinism",
    "facts": FACTS,
    "seed": 1,
    "scripts": 1000,
    "steps": 74000,
    "pythons": ["3.11.7", "3.13.0"],
    "differences": [],
}
PHASE = {"requests": 10, "failed": 0, "p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 3.0,
         "course": [[1, 3.0], [2, 2.0]]}  # fmt: skip
OVERLOAD = {
    "calm": PHASE, "attacked": PHASE, "calm_readyz": PHASE, "attacked_readyz": PHASE,
    "before_mb": 90.0, "peak_mb": 120.0, "after_mb": 95.0, "back_s": 1.0, "attack_s": 60.0,
    "descriptors": [20, 900, 20], "cpu": 0.8, "tally": {"connections": 500},
    "kept": {"seen": 77, "problems": []}, "memory": [[1, 100.0], [2, 120.0]],
}  # fmt: skip
SOAK = {
    "what": "soak", "facts": FACTS, "seed": 0, "begun_mb": 90.0, "allowed_mb": 180.0, "over": [],
    "intervals": [{"ended_s": 900.0, "lists": 5000, "writes": 70, "memory_mb": 100.0,
                   "peak_mb": 130.0, "received_mb": 1.0, "caches": {}}],
}  # fmt: skip
ROWS = {
    "scale": "full",
    "rounds": 3,
    "facts": FACTS,
    "rows": [
        {"name": "get", "title": "GETs", "unit": "1/s", "met": {"kubetrio": True},
         "servers": {"kubetrio": {"median": {"value": 4000.0, "p50_ms": None, "p99_ms": 3.0}}}},
    ],
}  # fmt: skip


class Parsed(HTMLParser):
    """Tags that are open, titles and what comes from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "path", "polyline"):
            self.open.append(tag)
        self.outside += [name for name, _ in attrs if name in ("src", "href")]
        assert tag != "script"

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "polyline"):
            assert self.open.pop() == tag


def test_everything_that_ran_is_on_one_page() -> None:
    """Well formed, without a file from elsewhere, in an order of its own."""
    text = page([ROWS, SOAK, OVERLOAD, DETERMINISM, PLANTED, RUN], "0.1.0")
    parsed = Parsed(text)
    assert parsed.open == []
    assert parsed.outside == []
    assert "url(" not in text
    assert re.findall("<h2>([^<]*)</h2>", text) == [
        "Fuzzing: 12,345 executions, 1 findings",
        "Planted bugs: 1 of 2 found",
        "Determinism: 1,000 scripts, 0 differences",
        "Overload: 60 seconds of attack",
        "Soak: 900 seconds, 0 times over a bound",
        "Benchmarks: 1 rows",
    ]
    assert text.count("<svg ") == 5
    assert "json --seed 8: &lt;b&gt;" in text
    assert "kubetrio 0.1.0: what was run" in text
    assert "CPython 3.13.0" in text


def test_a_run_makes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By one command, and beside it the numbers, of which the other command makes the same page."""
    numbers, made, again = (tmp_path / name for name in ("run.json", "a.html", "b.html"))
    where = ["--json", str(numbers), "--report", str(made)]
    assert fuzz(["times", "--rounds", "1", "--seed", "3", *where]) == 0
    assert main([str(again), str(numbers)]) == 0
    assert made.read_text() == again.read_text()
    assert "200 executions, 0 findings" in made.read_text()
    capsys.readouterr()


@pytest.mark.parametrize("wrong", ["{", "[]", "{}", '{"what": "else"}'])
def test_a_file_that_is_no_run(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named, and no page is made."""
    path, made = tmp_path / "x.json", tmp_path / "a.html"
    path.write_text(wrong)
    assert main([str(made), str(path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert not made.exists()


def test_what_is_no_run_makes_no_page() -> None:
    other: dict[str, Any] = json.loads('{"what": "else"}')
    with pytest.raises(ReportError):
        page([other])
