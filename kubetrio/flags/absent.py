"""Flags of kube-apiserver that ``kubetrio serve`` does not have: what becomes of each.

One that asks for something that users rely on and the server does not have is *refused*: the
command ends and says so, before anything is written.  One that changes nothing a user relies on is
*ignored*, with a warning.  Anything else is no flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kubetrio.flags import absent_operation, absent_security
from kubetrio.flags.absence import Absent, IgnoredFlag


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of arguments that the parser did not take.

    Args:
        refused: lines about those that end the command.
        ignored: flags that are warned of.
        wrong: arguments that are mistakes.
    """

    refused: list[str] = field(default_factory=list)
    ignored: list[IgnoredFlag] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def table() -> dict[str, Absent]:
    """All flags that are not ours, by name: of kube-apiserver, and some that users look for."""
    rows = (*absent_security.ROWS, *absent_operation.ROWS, *absent_operation.OURS_ALONE)
    return {row.name: row for row in rows}


def judge(arguments: Sequence[str]) -> Judged:
    """Sort arguments that the parser did not take; flags take their values with them.

    Args:
        arguments: in order.
    """
    known = table()
    judged = Judged()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name, given, value = argument.removeprefix("--").partition("=")
        row = known.get(name) if argument.startswith("--") else None
        if row is None:
            judged.wrong.append(argument)
            continue
        if not given:
            follows = not row.switch and rest and not rest[0].startswith("--")
            value = rest.pop(0) if follows else "true" if row.switch else ""
        try:
            problem = row.problem(value)
        except ValueError as error:
            problem = f"--{name}: {error}"
        if problem:
            judged.refused.append(problem)
        elif isinstance(row, IgnoredFlag):
            judged.ignored.append(row)
    return judged
