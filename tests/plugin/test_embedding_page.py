"""The programs on the page about embedding run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "embed.md"
PROGRAMS = [
    text
    for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    if "in_thread(" in text or "asyncio.run(" in text
]
pytestmark = pytest.mark.e2e


def test_all_ways_are_shown() -> None:
    """A thread, asyncio, and Trio as a guest."""
    ways = ("kubetrio.in_thread(", "aio.open_server(", "start_guest_run(")
    assert [sum(way in text for text in PROGRAMS) for way in ways] == [1, 1, 1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_page_runs(program: str, tmp_path: Path) -> None:
    """It ends by itself, and in order."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("https://127.0.0.1:")
    assert not (tmp_path / "data" / "kubetrio.head").exists()  # the note of an unclean stop
