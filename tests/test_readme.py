"""The README reads on a package index, and what is said of installing works in a checkout."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCUMENTATION = f"{PROJECT['urls']['Documentation']}en/latest/"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SCREEN = 30  # lines
EXTRA = re.compile(r"(?<!/)kubetrio\[([\w,]+)\]")
NAMED = re.compile(r"(kubetrio|\.)\[[\w,]+\]")
HERE = re.compile(r"'\.\[([\w,]+)\]'")


def anchors(text: str) -> set[str]:
    """What the headings of a page can be linked by."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in plain}


def test_links_are_absolute() -> None:
    """An index shows the README alone, without the tree around it."""
    targets = LINK.findall(README)
    assert len(targets) >= 20
    assert [target for target in targets if not target.startswith("https://")] == []


def test_links_to_the_documentation_lead_to_pages() -> None:
    """Each address is that of a page of the tree, and of a heading of it where it names one."""
    pages = [target for target in LINK.findall(README) if target.startswith(DOCUMENTATION)]
    assert len(pages) > 15
    for target in pages:
        address, _, anchor = target.removeprefix(DOCUMENTATION).partition("#")
        assert address.endswith(".html"), target
        page = ROOT / "docs" / address.replace(".html", ".md")
        assert page.is_file(), target
        assert not anchor or anchor in anchors(page.read_text()), target


def test_the_two_commands_are_on_the_first_screen() -> None:
    """One starts a server, the other runs the tests, which CI takes from here."""
    lines = README.splitlines()[:SCREEN]
    commands = [line for line in lines if line.startswith("python3 -m venv .venv && ")]
    serve, tests = commands
    assert serve.endswith(".venv/bin/kubetrio serve")
    assert ".venv/bin/pytest" in tests
    assert any("git clone" in line for line in lines)
    assert any(line.startswith("uvx --from ") for line in lines)


def strings(module: Path) -> Iterator[str]:
    """The texts in a module that may be shown, without docstrings' neighbours."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@functools.cache
def told() -> list[tuple[str, str]]:
    """Texts of the program and lines of the pages that name an extra, by where they are."""
    found: list[tuple[str, str]] = []
    for module in sorted((ROOT / "kubetrio").rglob("*.py")):
        if NAMED.search(module.read_text()):
            found += ((str(module.relative_to(ROOT)), text) for text in strings(module))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        lines = page.read_text().splitlines()
        found += ((str(page.relative_to(ROOT)), line) for line in lines)
    return [(where, text) for where, text in found if NAMED.search(text)]


def test_extras_are_named_as_a_checkout_installs_them() -> None:
    """No text says ``kubetrio[extra]`` alone: no index has kubetrio yet."""
    extras = PROJECT["optional-dependencies"].keys()
    named = 0
    for where, text in told():
        published = {one for found in EXTRA.findall(text) for one in found.split(",")}
        here = {one for found in HERE.findall(text) for one in found.split(",")}
        assert published <= here, f"{where}: {text}"
        assert here <= extras, f"{where}: {text}"
        named += len(here)
    assert named > 8


@pytest.mark.parametrize("extra", sorted(set(PROJECT["optional-dependencies"])))
def test_extras_of_the_readme_exist(extra: str) -> None:
    """Each extra that is for users is named in the README or on a page."""
    if extra in ("check", "docs", "fuzz"):
        return
    text = README + "".join(line for _, line in told())
    assert re.search(rf"\[[\w,]*\b{extra}\b[\w,]*\]", text), extra
