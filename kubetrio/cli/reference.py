"""The reference page of commands, made of their parsers: ``python -m kubetrio.cli.reference FILE``.

``serve`` is not on it: its flags have a page of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kubetrio.cli.commands import COMMANDS
from kubetrio.cli.completion import described

HEAD = """\
# Commands

`kubetrio COMMAND --help` says the same with examples.
This page is made of their parsers, by `python -m kubetrio.cli.reference`, and a test compares it.
Errors are one line and exit code 1, mistakes on the command line exit code 2.
Bars, on standard error, and colours are for terminals alone; `NO_COLOR` switches colours off.

For `kubetrio serve` see [flags](flags.md).
"""


def page() -> str:
    """The page."""
    return HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    helps = {row.name: row.help for row in COMMANDS}
    for command in described():
        if command.name == "serve":
            continue
        yield f"\n## {command.name}\n\n`kubetrio {command.name}`: {helps[command.name]}.\n"
        if command.words:
            yield f"Takes {', '.join(f'`{word}`' for word in command.words)}.\n"
        rows = [
            option for option in command.options if option.help and "--help" not in option.names
        ]
        if rows:
            yield "\n| flag | what |\n| --- | --- |\n"
        for option in rows:
            names = ", ".join(f"`{name}`" for name in option.names)
            yield f"| {names} | {option.help} |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
