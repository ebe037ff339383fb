"""What a person at a terminal sees while a command works: bars and colours, on terminals alone.

Source: no-color.org for ``NO_COLOR``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TextIO

from kubetrio.env import monotonic

AGAIN_S = 0.1  # between two pictures
WIDTH = 30
TURNS = "-\\|/"
RED, GREEN, CYAN, BOLD = "31", "32", "36", "1"


class Bar:
    """How far something is, in one line of standard error that goes at the end.

    Args:
        label: what is done.
        stream: where; nothing is printed if that is no terminal.
        now: seconds of a clock that does not go back.
    """

    def __init__(
        self, label: str, stream: TextIO | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._now = now
        self._next = now() + AGAIN_S
        self._turns = 0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def to(self, done: int, total: int) -> None:
        """Show so much of so much."""
        if not self._due():
            return
        part = min(1.0, done / total) if total else 1.0
        filled = int(part * WIDTH)
        bar = "#" * filled + "." * (WIDTH - filled)
        self._draw(f"{self._label} [{bar}] {int(part * 100):3d}%")

    def turn(self) -> None:
        """Show that something goes on, where it is not known how much is left."""
        if self._due():
            self._turns += 1
            self._draw(f"{self._label} {TURNS[self._turns % len(TURNS)]}")

    def clear(self) -> None:
        """Take the line away, for another one."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _due(self) -> bool:
        if not self._shown or self._now() < self._next:
            return False
        self._next = self._now() + AGAIN_S
        return True

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()
        self._drawn = True


def painted(stream: TextIO, environ: Mapping[str, str] | None = None) -> Callable[[str, str], str]:
    """What gives a text a colour where the stream shows it, and leaves it as it is elsewhere."""
    environ = os.environ if environ is None else environ
    if not stream.isatty() or environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return lambda text, _: text
    return lambda text, code: f"\x1b[{code}m{text}\x1b[0m"
