"""The pages become HTML without a warning, and the fragments of news a section of the changelog."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FRAGMENTS = ROOT / "docs" / "newsfragments"


def needs(*modules: str) -> None:
    """Skip a test whose tools are not there."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install '.[docs]'")


def run(*command: str) -> str:
    """What a module of Python prints; it has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.e2e
def test_sphinx_has_no_complaint(tmp_path: Path) -> None:
    """Not about links either."""
    needs("sphinx", "myst_parser", "furo")
    made = tmp_path / "html"
    folders = ["-d", str(tmp_path / "seen"), "docs", str(made)]
    run("sphinx", "-q", "-W", "--keep-going", "-n", *folders)
    assert (made / "how-to" / "embed.html").is_file()
    assert 'href="how-to/embed.html"' in (made / "index.html").read_text()


@pytest.mark.e2e
def test_every_line_of_the_fragments_is_in_the_next_section() -> None:
    """Headings as they are, and each other line as an item."""
    needs("towncrier")
    section = run("towncrier", "build", "--draft", "--version", "next")
    for path in FRAGMENTS.glob("[0-9]*.md"):
        for line in filter(None, map(str.strip, path.read_text().splitlines())):
            assert f"{line if line.startswith('####') else f'- {line}'}\n" in section


def test_fragments_have_names_that_towncrier_takes() -> None:
    """Several of one issue and type have to differ before the type."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    types = "|".join(one["directory"] for one in settings["type"])
    names = {path.name for path in FRAGMENTS.iterdir()} - {"README.md", "template.jinja"}
    assert {one for one in names if not re.fullmatch(rf"\d+\.(\w+\.)?({types})\.md", one)} == set()
