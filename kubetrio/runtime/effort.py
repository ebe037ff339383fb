"""How much work is done for one object, counted in steps of about a microsecond.

An object takes the same steps on every machine, and so is taken or refused on all of them.  Who
has such work done may look up from it every now and then: to end it, or to do it elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Final

MOST_STEPS: Final = 3_000_000
"""For one object: three megabytes of JSON have a million and a half values at most."""
STRIDE: Final = 16_384
"""Steps between two looks."""


class Exhausted(Exception):
    """The work takes more steps than it may.

    Args:
        steps: how many these are.
    """

    def __init__(self, steps: int) -> None:
        super().__init__(f"takes more than {steps} steps")
        self.steps = steps


def _on() -> None:
    pass


_look: ContextVar[Callable[[], None]] = ContextVar("look", default=_on)


class Looking:
    """A block inside of which work begins that looks up.

    Args:
        look: called from time to time, in the thread of the work, which ends with what it raises.
    """

    __slots__ = ("_look", "_token")

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def __enter__(self) -> None:
        self._token: Token[Callable[[], None]] = _look.set(self._look)

    def __exit__(self, *_: object) -> None:
        _look.reset(self._token)


class Effort:
    """What is left of the steps for one object.

    Args:
        most: how many there are.

    Attributes:
        left: steps until the next look.  Hot code takes its own from it, and calls `look_up` where
            that leaves less than nothing.
    """

    __slots__ = ("_look", "_most", "_rest", "left")

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._most = most
        self._look = _look.get()
        self.left = min(most, STRIDE)
        self._rest = most - self.left

    def spend(self, steps: int) -> None:
        """Take some steps.

        Raises:
            Exhausted: there are not so many.
        """
        self.left -= steps
        if self.left < 0:
            self.look_up()

    def look_up(self) -> None:
        """Look up; `spend` has it called when it is time.

        Raises:
            Exhausted: as of `spend`.
        """
        self._rest += self.left
        if self._rest < 0:
            raise Exhausted(self._most)
        self.left = min(self._rest, STRIDE)
        self._rest -= self.left
        self._look()
