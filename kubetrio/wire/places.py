"""Places in a document, for messages that are each said once.

A body may repeat one mistake a million times, below a path of a million characters or ten thousand
levels.  So a place is spelled out only for a message that is new; whether it is new is asked by
numbers, each step on the way to a mistake being looked up once.
"""

from __future__ import annotations

# Go's strict decoder stops collecting after this many messages.
MAX_STRICT_ERRORS = 100
MAX_STRICT_CHARS = 1_000_000
"""What all messages about one body may say together; Go has no such limit."""

ROOT = 0


class Places:
    """Numbers of places, and what was said of them."""

    __slots__ = ("_numbers", "_room", "_said", "_texts")

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._said: set[tuple[int, str]] = set()
        self._texts: set[str] = set()
        self._room = MAX_STRICT_CHARS

    @property
    def full(self) -> bool:
        """Whether nothing more is said."""
        return self._room <= 0 or len(self._texts) >= MAX_STRICT_ERRORS

    def inside(self, place: int, step: str) -> int:
        """The place that is a step inside of another.

        Args:
            place: the other one; that of the document is `ROOT`.
            step: such as ``.spec`` and ``[3]``.
        """
        return self._numbers.setdefault((place, step), len(self._numbers) + 1)

    def new(self, place: int, what: str) -> bool:
        """Whether something is said of a place for the first time."""
        before = len(self._said)
        self._said.add((place, what))
        return len(self._said) > before

    def take(self, text: str) -> bool:
        """Whether a text is new, and is one that is still said."""
        if self.full or text in self._texts:
            return False
        self._texts.add(text)
        self._room -= len(text)
        return True
