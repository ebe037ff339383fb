"""The public API is what `__all__` says, has documentation, and is on its page."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

import kubetrio.embedding
from kubetrio.embedding import Config
from kubetrio.embedding.reference import page

ROOT = Path(__file__).parent.parent.parent
SCREEN_LINES = 40
"""Of the documentation of a class; more is a page of its own."""


def test_all_is_what_is_imported() -> None:
    """Nothing else of the package is public, and each name once."""
    names = kubetrio.embedding.__all__
    public = {
        name
        for name, value in vars(kubetrio.embedding).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(names) == public
    assert len(names) == len(set(names))


def test_each_section_of_a_configuration_is_public() -> None:
    """What the fields of a `Config` are values of can be made without other modules."""
    sections = {one for one in get_type_hints(Config).values() if is_dataclass(one)}
    assert len(sections) > 10
    assert sections <= {getattr(kubetrio.embedding, name) for name in kubetrio.embedding.__all__}


@pytest.mark.parametrize("name", kubetrio.embedding.__all__)
def test_each_has_documentation_that_fits_a_screen(name: str) -> None:
    """Of its own, and that of its public members too."""
    found = getattr(kubetrio.embedding, name)
    if not callable(found):
        return
    text = inspect.getdoc(found)
    assert text
    assert text.count("\n") < SCREEN_LINES
    for member in vars(found).values() if inspect.isclass(found) else ():
        of = member.fget if isinstance(member, property) else member
        if inspect.isfunction(of) and not of.__name__.startswith("_"):
            assert inspect.getdoc(of), f"{name}.{of.__name__}"


def test_the_page_is_as_it_would_be_made() -> None:
    """`python -m kubetrio.embedding.reference docs/reference/python.md` makes it anew."""
    assert (ROOT / "docs/reference/python.md").read_text() == page()
