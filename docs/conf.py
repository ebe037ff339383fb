"""How Sphinx makes the pages: `sphinx-build -W -n docs DIR`.

The same files are read on code hosts, so they hold no directives: links are relative paths, and
the order of pages is that of `index.md`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")

project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["name"]
html_title = project
html_theme = "furo"
extensions = ["myst_parser"]
exclude_patterns = ["_build", "newsfragments/[0-9]*"]
nitpicky = True
myst_heading_anchors = 4


def _contents(index: str) -> str:
    """Hidden tables of contents: one for each section, of the pages that it links."""
    made = []
    for section in index.split("\n## ")[1:]:
        caption = section.partition("\n")[0]
        pages = [target for _, target in LINK.findall(section) if (DOCS / target).is_file()]
        inside = [page for page in pages if (DOCS / page).resolve().is_relative_to(DOCS)]
        made.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *inside]))
    return "".join(f"\n{one}\n```\n" for one in made)


def _read(_: Sphinx, name: str, source: list[str]) -> None:
    """Make of links to files beside the pages their text, and add the tables of contents."""
    folder = (DOCS / name).parent

    def link(found: re.Match[str]) -> str:
        outside = not (folder / found[2]).resolve().is_relative_to(DOCS)
        return found[1] if outside and "://" not in found[2] else found[0]

    contents = _contents(source[0]) if name == "index" else ""
    source[0] = LINK.sub(link, source[0]) + contents


def setup(app: Sphinx) -> None:
    """Sphinx calls it."""
    app.connect("source-read", _read)
