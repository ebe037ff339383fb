"""The reference of flags is made from them."""

from __future__ import annotations

from pathlib import Path

from kubetrio.cli.flagsreference import BLOCKS, filled
from kubetrio.flags.absent import table
from kubetrio.flags.parser import FLAGS

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "flags.md"


def test_the_page_is_as_it_would_be_made() -> None:
    """Else: ``python -m kubetrio.cli.flagsreference docs/reference/flags.md``."""
    text = PAGE.read_text()
    assert filled(text) == text


def test_every_block_is_on_the_page() -> None:
    """So that no flag is left out of it."""
    text = PAGE.read_text()
    for name in BLOCKS:
        assert f"<!-- begin {name} -->" in text
    for name in (*(row.flag.name for row in FLAGS), *table()):
        assert f"`--{name}`" in text
