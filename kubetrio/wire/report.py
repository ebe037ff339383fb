"""What decoding a body found out that the decoded object does not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Empties = dict[str | int, Any]
"""What was given and is not printed as such, by the steps that lead there.

A value is the empty list, map or text that was given and is left out; the text of a quantity that
is printed in another form; or an `Empties` that has something in it.
Steps are names of members and places in lists.
"""


@dataclass(slots=True)
class Report:
    """What a strict decoder would complain about, and what is lost in printing.

    Args:
        strict: messages such as ``unknown field "spec.foo"`` and ``duplicate field "data.a"``, in
            the order of the text, each once, at most 100.
        empties: members that are left out because they are empty, although they were given.
    """

    strict: list[str] = field(default_factory=list)
    empties: Empties | None = None

    def __bool__(self) -> bool:
        return bool(self.strict)

    @property
    def unknown(self) -> list[str]:
        """Messages about unknown fields."""
        return [message for message in self.strict if message.startswith("unknown ")]

    @property
    def duplicates(self) -> list[str]:
        """Messages about duplicate fields."""
        return [message for message in self.strict if message.startswith("duplicate ")]

    @property
    def error(self) -> str:
        """The combined error of ``fieldValidation=Strict``, or an empty text."""
        return f"strict decoding error: {', '.join(self.strict)}" if self.strict else ""
