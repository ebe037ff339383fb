"""The page about fuzzing operators is followed literally, and its table has all rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from shelves import BLOCKS, TEXT

from kubetrio.harness.operators.oracles import ORACLES


def test_the_table_has_all_rules() -> None:
    """In their order."""
    assert re.findall(r"^\| `([\w-]+)` \|", TEXT, re.MULTILINE) == list(ORACLES)


def test_the_operator_has_sixty_lines() -> None:
    """But for blank ones."""
    operator = next(text for language, text in BLOCKS if language == "python")
    assert len([line for line in operator.splitlines() if line.strip()]) <= 60


@pytest.mark.e2e
@pytest.mark.slow
def test_the_programs_run_one_after_the_other(tmp_path: Path) -> None:
    """In an empty directory; the operator has no mistake."""
    [shelves, *programs] = [text for language, text in BLOCKS if language == "python"]
    (tmp_path / "shelves.py").write_text(shelves)
    [definition] = [text for language, text in BLOCKS if language == "yaml"]
    (tmp_path / "shelf.yaml").write_text(definition)
    for number, text in enumerate(programs):
        if "def test_" in text:
            name = tmp_path / "test_shelves.py"
            name.write_text(text)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(name)]
            expected = "1 passed"
        else:
            name = tmp_path / f"program_{number}.py"
            name.write_text(text)
            command, expected = [sys.executable, str(name)], "nothing found"
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, expected in done.stdout) == (0, True), done.stdout + done.stderr
