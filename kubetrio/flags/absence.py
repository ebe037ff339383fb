"""What becomes of a flag of kube-apiserver that is not ours: refused, or ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kubetrio.config.kinds import boolean

LEAVE_OUT = "leave the flag out"


@dataclass(frozen=True, slots=True)
class RefusedFlag:
    """A flag that asks for what is not there.

    Args:
        name: of the flag.
        missing: what is not there, a clause.
        instead: what to do.
        fine: values that ask for nothing else than what is there; one of a boolean is ``true`` or
            ``false``.
        switch: whether it is a boolean, so that no value follows it.
    """

    name: str
    missing: str
    instead: str = LEAVE_OUT
    fine: tuple[str, ...] = ("",)
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
        return f"--{self.name}: {self.missing}; {self.instead}"


@dataclass(frozen=True, slots=True)
class IgnoredFlag:
    """A flag that changes nothing a user relies on.

    Args:
        name: of the flag.
        why: it changes nothing here.
        switch: whether it is a boolean, so that no value follows it.
        wrong: says what is wrong with a value, nothing if kube-apiserver takes it.
    """

    name: str
    why: str
    switch: bool = field(default=False, kw_only=True)
    wrong: Callable[[str], str] = field(default=lambda _: "", kw_only=True)

    def problem(self, value: str) -> str:
        """One line about a value that kube-apiserver refuses, empty for others."""
        why = self.wrong(value)
        return f"--{self.name}: {why}" if why else ""


Absent = RefusedFlag | IgnoredFlag
