"""Flags of kube-apiserver that ``kubetrio serve`` does not have: what becomes of each.

One that asks for something that users rely on and the server does not have is *refused*: the
command ends and says so, before anything is written.  One that changes nothing a user relies on is
*ignored*, with a warning.  Anything else is no flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kubetrio.config.kinds import boolean, names

LEAVE_OUT = "leave the flag out"


@dataclass(frozen=True, slots=True)
class Refused:
    """A flag that asks for what is not there.

    Args:
        name: of the flag.
        missing: what is not there, a clause.
        instead: what to do.
        fine: values that ask for nothing else than what is there; one of a boolean is ``true`` or
            ``false``.
        among: of a list, the names that ask for nothing else.
        switch: whether it is a boolean, so that no value follows it.
    """

    name: str
    missing: str
    instead: str = LEAVE_OUT
    fine: tuple[str, ...] = ("",)
    among: tuple[str, ...] = ()
    switch: bool = field(default=False, kw_only=True)

    def problem(self, value: str) -> str:
        """One line about a value, empty if it may be so.

        Raises:
            ValueError: no boolean where one is needed.
        """
        if self.switch:
            value = "true" if boolean(value) else "false"
        if value in self.fine:
            return ""
        asked = [name for name in names(value) if name not in self.among]
        if self.among and not asked:
            return ""
        which = f" ({', '.join(asked)})" if self.among else ""
        return f"--{self.name}: {self.missing}{which}; {self.instead}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A flag that changes nothing a user relies on.

    Args:
        name: of the flag.
        why: it changes nothing here.
        switch: whether it is a boolean, so that no value follows it.
    """

    name: str
    why: str
    switch: bool = field(default=False, kw_only=True)


Absent = Refused | Ignored


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of arguments that the parser did not take.

    Args:
        refused: lines about those that end the command.
        ignored: flags that are warned of.
        wrong: arguments that are mistakes.
    """

    refused: list[str] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def table() -> dict[str, Absent]:
    """All flags of kube-apiserver that are not ours, by name."""
    from kubetrio.flags import absent_operation, absent_security

    return {row.name: row for row in (*absent_security.ROWS, *absent_operation.ROWS)}


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
        if isinstance(row, Ignored):
            judged.ignored.append(row)
            continue
        try:
            problem = row.problem(value)
        except ValueError as error:
            problem = f"--{name}: {error}"
        if problem:
            judged.refused.append(problem)
    return judged
