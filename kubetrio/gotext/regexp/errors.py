"""What is wrong with a pattern."""

from __future__ import annotations


class RegexpError(Exception):
    """A pattern that Go cannot compile; the text is Go's.

    Args:
        code: the kind of mistake.
        part: what of the pattern is wrong.
    """

    def __init__(self, code: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{part}`")
