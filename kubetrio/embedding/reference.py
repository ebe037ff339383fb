"""The reference page of the public API: ``python -m kubetrio.embedding.reference FILE``.

It is made of docstrings.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import kubetrio.aio
import kubetrio.embedding

HEAD = """\
# The Python API

`kubetrio.embedding` is the public API.
Public too are `kubetrio.aio`, which opens a server for asyncio, `kubetrio.types`, which has
[types of built-in objects]({types}), [`kubetrio.harness`]({harness}), the fixtures of the
[pytest plugin]({pytest}), and `kubetrio.cli.main`, which runs the command line with
[parts of your own]({parts}).
What is on this page keeps its name and its meaning through 0.x releases, or is deprecated for one
release first.
Every other module is the project's own and changes without notice.
The page is made of docstrings by `python -m kubetrio.embedding.reference`; a test compares it.
How they are used: [embed a server]({embed}), [write a controller]({controller}).
""".format(
    pytest="../how-to/test-with-pytest.md",
    embed="../how-to/embed.md",
    controller="../how-to/write-a-controller.md",
    harness="harness.md",
    parts="../how-to/embed.md#your-own-kinds-authorizers-admission-plugins-store",
    types="../how-to/write-a-controller.md#types-of-objects",
)
ROLE = re.compile(r"``([^`]+)``")


def page() -> str:
    """The page."""
    return HEAD + "".join([*sections(kubetrio.embedding), *sections(kubetrio.aio, "aio.")])


def sections(module: ModuleType, prefix: str = "") -> Iterator[str]:
    """Sections of the names that a module makes public, in the order of the alphabet.

    Args:
        module: with ``__all__``.
        prefix: of the names in titles.
    """
    for name in sorted(module.__all__, key=str.lower):
        found = getattr(module, name)
        if inspect.isclass(found):
            yield _entry(prefix + name, found)
            yield from _members(found)
        elif callable(found):
            yield _entry(prefix + name, found)
    constants = [name for name in module.__all__ if not callable(getattr(module, name))]
    if constants:
        yield f"\n## Constants\n\n{', '.join(f'`{name}`' for name in constants)}\n"


def _members(found: type) -> Iterator[str]:
    """Public methods and properties of a class itself, in their order."""
    rows = []
    for name, member in vars(found).items():
        of = member.fget if isinstance(member, property) else inspect.unwrap(getattr(found, name))
        if name.startswith("_") or not (isinstance(member, property) or inspect.isfunction(of)):
            continue
        shown = name if isinstance(member, property) else f"{name}()"
        rows.append(f"- `{shown}`: {_first(of)}\n")
    if rows:
        yield "\n" + "".join(rows)


def _entry(name: str, found: object) -> str:
    text = inspect.getdoc(found) or ""
    what, _, rest = text.partition("\n\nArgs:")
    lines = [f"\n## {name}\n\n{_markdown(what)}\n"]
    if rest:
        arguments, _, raises = rest.partition("\n\nRaises:")
        arguments = arguments.partition("\n\n")[0]
        lines.append("\n| argument | what |\n| --- | --- |\n")
        lines += [f"| `{one}` | {_markdown(told)} |\n" for one, told in _rows(arguments)]
        if raises:
            told = ", ".join(f"`{one}` ({_markdown(why)})" for one, why in _rows(raises))
            lines.append(f"\nRaises {told.replace('.)', ')')}.\n")
    return "".join(lines)


def _rows(block: str) -> Iterator[tuple[str, str]]:
    """Names and texts of a section of a docstring."""
    for entry in re.split(r"\n    (?=\S)", block):
        name, colon, told = " ".join(entry.split()).partition(": ")
        if colon:
            yield name.removeprefix("**"), told


def _first(of: object) -> str:
    return _markdown(" ".join((inspect.getdoc(of) or "").split("\n\n")[0].split()))


def _markdown(text: str) -> str:
    return ROLE.sub(r"`\1`", " ".join(text.split()) if "\n\n" not in text else text).replace(
        "|", "\\|"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
