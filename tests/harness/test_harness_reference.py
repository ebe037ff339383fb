"""The names of the harness have documentation, and are on their page."""

from __future__ import annotations

import inspect
from pathlib import Path

import kubetrio.harness
from kubetrio.harness.reference import page

ROOT = Path(__file__).parent.parent.parent


def test_the_page_is_as_it_would_be_made() -> None:
    """`python -m kubetrio.harness.reference docs/reference/harness.md` makes it anew."""
    assert (ROOT / "docs/reference/harness.md").read_text() == page()


def test_all_is_what_is_imported() -> None:
    """Nothing else of the package is public, and each name once."""
    names = kubetrio.harness.__all__
    public = {
        name
        for name, value in vars(kubetrio.harness).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(names) == public
    assert len(names) == len(set(names))
