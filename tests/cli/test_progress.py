"""Bars and colours are for terminals."""

from __future__ import annotations

import io

from kubetrio.cli.progress import RED, Bar, painted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_and_goes() -> None:
    """Not more often than its interval; nothing of it stays."""
    stream, times = Terminal(), iter([0.0, 0.05, 0.2, 0.2])
    with Bar("copying", stream, lambda: next(times)) as bar:
        bar.to(1, 4)  # too early
        assert stream.getvalue() == ""
        bar.to(2, 4)
        assert " 50%" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_nothing_is_drawn_elsewhere() -> None:
    """Files and pipes get neither bars nor colours."""
    stream, times = io.StringIO(), iter(range(100))
    with Bar("copying", stream, lambda: float(next(times))) as bar:
        bar.to(1, 2)
        bar.turn()
    assert stream.getvalue() == ""
    assert painted(stream, {})("x", RED) == "x"


def test_colours_can_be_refused() -> None:
    """By NO_COLOR, whatever it says."""
    assert painted(Terminal(), {})("x", RED) == "\x1b[31mx\x1b[0m"
    assert painted(Terminal(), {"NO_COLOR": "1"})("x", RED) == "x"
