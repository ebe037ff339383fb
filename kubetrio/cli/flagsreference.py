"""The tables of the reference of flags.

``python -m kubetrio.cli.flagsreference docs/reference/flags.md`` writes them between their marks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path

from kubetrio.config import Config
from kubetrio.config.flag import FlagRow, flag_of, rows
from kubetrio.controllers.table import TABLE
from kubetrio.flags import absent_operation, absent_security
from kubetrio.flags.absence import Absent, IgnoredFlag, RefusedFlag
from kubetrio.flags.parser import FLAGS, TERMINAL

BLOCK = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def _listed(names: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(first)} and {last}"


# What `Flag.more` leaves to tables that configuration does not know.
_FILLED = {"controllers": _listed(TABLE)}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in cells:
        yield f"| {' | '.join(map(_cell, row))} |".replace("|  |", "| |")


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]  # a value that is explained stays as it is
    return f"{text}." if first.endswith(":") else f"{text[:1].upper()}{text[1:]}."


def _row(row: FlagRow) -> tuple[str, str, str, str]:
    flag = row.flag
    name = f"`-{flag.short}`, `--{flag.name}`" if flag.short else f"`--{flag.name}`"
    default = f"`{row.default_text()}`" if row.default_text() else ""
    path = "" if row.section == TERMINAL else f"`{row.path}`"
    sentences = [_sentence(flag.help)]
    if flag.unset:
        sentences.append(f"If not given: {flag.unset}.")
    if flag.more:
        sentences.append(flag.more.format_map(_FILLED) if "{" in flag.more else flag.more)
    return name, default, path, " ".join(sentences)


def _refused(row: RefusedFlag) -> tuple[str, str, str, str]:
    values = tuple(value for value in row.fine if value)
    shown = ", ".join(f"`{value}`" for value in values)
    return f"`--{row.name}`", shown, _sentence(row.missing), _sentence(row.instead)


def _ignored(row: IgnoredFlag) -> tuple[str, str]:
    return f"`--{row.name}`", _sentence(row.why)


def _all_absent() -> Iterator[Absent]:
    yield from absent_security.ROWS
    yield from absent_operation.ROWS
    yield from absent_operation.OURS_ALONE


def _flags() -> Iterator[str]:
    for title, entries in groupby(FLAGS, key=lambda row: row.group):
        yield from (f"## {_sentence(title)[:-1]}", "")
        yield from _table(("flag", "default", "`Config` field", "meaning"), map(_row, entries))
        yield ""


def _sections() -> Iterator[str]:
    for one in fields(Config):
        if flag_of(one) is None:
            yield f"- `{one.name}`: `{getattr(one.default_factory, '__name__', '')}`"


def _fields() -> Iterator[str]:
    for row in rows(Config):
        if not row.flag.name:
            yield f"- `{row.path}` ({row.default:g} seconds): {row.flag.help}."


def _refusals() -> Iterator[str]:
    lines = (_refused(row) for row in _all_absent() if isinstance(row, RefusedFlag))
    return _table(("flag", "values that are taken", "what is missing", "what to do"), lines)


def _ignorances() -> Iterator[str]:
    lines = (_ignored(row) for row in _all_absent() if isinstance(row, IgnoredFlag))
    return _table(("flag", "why it changes nothing"), lines)


BLOCKS: Mapping[str, Callable[[], Iterator[str]]] = {
    "flags": _flags,
    "sections": _sections,
    "fields": _fields,
    "refused": _refusals,
    "ignored": _ignorances,
}


def filled(page: str) -> str:
    """The page with its blocks as they should be.

    Args:
        page: Markdown with ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` around each block.
    """

    def block(found: re.Match[str]) -> str:
        lines = "\n".join(BLOCKS[found[2]]()).strip()
        return f"{found[1]}{lines}\n{found[3]}"

    return BLOCK.sub(block, page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text()))
