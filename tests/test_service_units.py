"""The units of the documentation are what systemd takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "run-as-a-service.md"
NAME = re.compile(
    r"`/etc/systemd/system/(kubetrio\.\w+)`:\n\n```ini\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
ANALYZE = shutil.which("systemd-analyze")
PROGRAM = "/usr/local/bin/kubetrio"
MOST_EXPOSURE = 25  # tenths; systemd's own words for up to 2.5 are below OK

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze"),
]


@pytest.fixture
def units(tmp_path: Path) -> list[Path]:
    """The units as files, with a program that is there."""
    found = dict(NAME.findall(PAGE.read_text()))
    assert set(found) == {"kubetrio.service", "kubetrio.socket"}
    for name, text in found.items():
        (tmp_path / name).write_text(text.replace(PROGRAM, sys.executable))
    return [tmp_path / name for name in found]


def said(*command: str | Path) -> str:
    """What systemd-analyze says of a unit, on both streams."""
    assert ANALYZE is not None
    done = subprocess.run([ANALYZE, *command], check=False, capture_output=True, text=True)
    return f"{done.returncode}: {done.stdout}{done.stderr}"


def test_systemd_takes_the_units(units: list[Path]) -> None:
    """Without a warning about them."""
    text = said("verify", "--man=no", *units)
    about = [line for line in text.splitlines() if "kubetrio" in line]
    assert about == [], text
    assert text.startswith("0:")


def test_the_service_is_hardened(units: list[Path]) -> None:
    """As systemd rates it."""
    service = next(path for path in units if path.suffix == ".service")
    threshold = f"--threshold={MOST_EXPOSURE}"
    text = said("security", "--offline=yes", threshold, "--no-pager", service)
    if "unrecognized option" in text:
        pytest.skip("this systemd-analyze cannot rate files")
    assert text.startswith("0:"), text
