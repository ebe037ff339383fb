"""The public API is what `__all__` says, has documentation, and is on its page."""

from __future__ import annotations

import inspect
import pydoc
import re
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

import kubetrio
import kubetrio.aio
import kubetrio.embedding
import kubetrio.types
from kubetrio.embedding import Config
from kubetrio.embedding.reference import page

ROOT = Path(__file__).parent.parent.parent
SCREEN_LINES, SCREEN_COLUMNS = 40, 100
SECTION = r"\n \|  (?:Method resolution order|Methods defined|Data descriptors|Readonly properties)"
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (kubetrio.embedding, kubetrio.aio)
    for name in module.__all__
    if callable(getattr(module, name))
}


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


@pytest.mark.parametrize("module", [kubetrio, kubetrio.embedding, kubetrio.aio, kubetrio.types])
def test_public_modules_say_what_is_public(module: ModuleType) -> None:
    """All of it is there."""
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def test_a_server_for_asyncio_defines_nothing_else() -> None:
    """Classes and functions that are not public begin with an underscore."""
    own = {
        name
        for name, value in vars(kubetrio.aio).items()
        if (getattr(value, "__module__", "") == "kubetrio.aio" and inspect.isroutine(value))
        or (inspect.isclass(value) and value.__module__ == "kubetrio.aio")
    }
    assert {name for name in own if not name.startswith("_")} == set(kubetrio.aio.__all__)


@pytest.mark.parametrize("name", [*PUBLIC])
def test_help_fits_a_screen(name: str) -> None:
    """Of what a class or function is and takes, and of each of its methods; each says something."""
    found = PUBLIC[name]
    assert inspect.getdoc(found)
    about = pydoc.plain(pydoc.render_doc(found))
    assert lines(re.split(SECTION, about)[0]) <= SCREEN_LINES
    for member in vars(found).values() if inspect.isclass(found) else ():
        of = member.fget if isinstance(member, property) else member
        if inspect.isfunction(of) and not of.__name__.startswith("_"):
            assert inspect.getdoc(of), f"{name}.{of.__name__}"
            assert lines(pydoc.plain(pydoc.render_doc(of))) <= SCREEN_LINES, of.__name__


def lines(text: str) -> int:
    """How many lines of a screen a text takes."""
    return sum(-(-max(1, len(line)) // SCREEN_COLUMNS) for line in text.splitlines())


def test_the_page_is_as_it_would_be_made() -> None:
    """`python -m kubetrio.embedding.reference docs/reference/python.md` makes it anew."""
    assert (ROOT / "docs/reference/python.md").read_text() == page()
