"""The page about scripts is followed literally."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubetrio.harness.script import STEPS, Script

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "how-to" / "script-requests.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_file_shown_is_a_script() -> None:
    """With steps of the kinds in the table, which has them all."""
    [shown] = [text for language, text in BLOCKS if language == "json"]
    assert len(Script.parse(shown).steps) == 6
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(STEPS)


@pytest.mark.e2e
def test_the_programs_run_one_after_the_other(tmp_path: Path) -> None:
    """In an empty directory, in processes of their own with hash seeds of their own."""
    for language, text in BLOCKS:
        if language == "json":
            continue
        command = [sys.executable, "-c", text]
        if language == "sh":
            command = [sys.executable, "-m", *text.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), text
