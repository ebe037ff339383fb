"""Where causes of one value go, with the paths that kube-apiserver tells."""

from __future__ import annotations

from typing import Final

from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.status import Cause
from kubetrio.machinery.telling import untell
from kubetrio.runtime.effort import Effort

NOWHERE = "<nil>"
"""The path of what has no place of its own."""


MOST: Final = 1000
MOST_TEXT: Final = 1 << 20


class Out(list[Cause]):
    """Where causes go.

    Args:
        prefix: path of what is checked, empty for a whole object.
        effort: of the check, None for a new one.
    """

    def __init__(self, prefix: str = "", effort: Effort | None = None) -> None:
        super().__init__()
        self.prefix = prefix
        self.effort = Effort() if effort is None else effort
        self._text = 0  # characters of all messages

    def append(self, cause: Cause) -> None:
        """Something is wrong."""
        self.effort.spend(5 + (len(cause.message) >> 6))
        self._text += len(cause.message)
        super().append(cause)

    def merge(self, inner: Out) -> None:
        """All that another one has is wrong."""
        self._text += inner._text
        self += inner

    def forget(self, length: int) -> None:
        """What came after the first causes is not wrong."""
        gone = self[length:]
        self._text -= sum(len(cause.message) for cause in gone)
        untell(gone)
        del self[length:]

    @property
    def full(self) -> bool:
        """Whether so much is wrong that more of it would help no client.

        A schema and an object of some megabytes each could have causes for each pair of their
        parts; nothing that is not wrong in another place may ask this.
        """
        return len(self) >= MOST or self._text > MOST_TEXT

    def path(self, name: str) -> str:
        """The path of a field."""
        name = name.removeprefix(".")
        if name and self.prefix:
            return f"{self.prefix}.{name}"
        return name or self.prefix or NOWHERE

    def plain(self, text: str) -> None:
        """Something is wrong that has no place of its own."""
        self.append(invalid(self.prefix or NOWHERE, "", text))
