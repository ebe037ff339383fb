"""What the pages say to do: programs, files and commands, taken from the Markdown."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"^Save as `([^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page that are in a language."""
    return [text for kind, text in BLOCK.findall((ROOT / page).read_text()) if kind == language]


def save(page: str, folder: Path) -> list[str]:
    """Write the files that a page has the reader save; returns their names."""
    saved = dict(SAVED.findall((ROOT / page).read_text()))
    for name, text in saved.items():
        (folder / name).write_text(text)
    return list(saved)


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a console block.

    Args:
        command: as it is typed.
        shown: the lines that the page shows as its answer.
    """

    command: str
    shown: tuple[str, ...]

    def matches(self, said: str) -> bool:
        """Whether the answer is what is shown; ages may differ, and ``...`` is any end."""
        lines = said.splitlines()
        return len(lines) == len(self.shown) and all(
            re.fullmatch(_pattern(shown), line.rstrip())
            for shown, line in zip(self.shown, lines, strict=True)
        )


def steps(page: str) -> list[Step]:
    """The commands of a page's console blocks, in order."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line:
                found[-1][1].append(line)
    return [Step(command, tuple(shown)) for command, shown in found]


def _pattern(shown: str) -> str:
    text = re.escape(shown.removesuffix("..."))
    aged = re.sub(r"\d+s$", r"\\d+s", text)
    return aged + (".*" if shown.endswith("...") else "")


def installed(folder: Path, **programs: str) -> dict[str, str]:
    """What the pages' first commands make, without a download: ``.venv/bin`` with programs.

    They are those of this Python, with the package of this checkout.

    Args:
        folder: where the reader is.
        programs: arguments of Python for each.

    Returns:
        An environment for what is run there.
    """
    made = folder / ".venv" / "bin"
    made.mkdir(parents=True)
    for name, arguments in {"python": "", **programs}.items():
        script = made / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        script.chmod(0o755)
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
