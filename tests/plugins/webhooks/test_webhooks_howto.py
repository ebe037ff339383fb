"""The page on admission webhooks: its program does what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "admission-webhooks.md"


@pytest.mark.e2e
def test_the_program_works() -> None:
    """As it is written, with the output that is shown."""
    text = PAGE.read_text()
    program = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    shown = re.search(r"^It prints `(.*)`\.$", text, re.MULTILINE)
    assert shown is not None
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == shown[1], done.stderr
