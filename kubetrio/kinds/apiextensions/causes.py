"""Where causes of one value go, with the paths that kube-apiserver tells."""

from __future__ import annotations

from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.status import Cause

NOWHERE = "<nil>"
"""The path of what has no place of its own."""


class Out(list[Cause]):
    """Where causes go.

    Args:
        prefix: path of what is checked, empty for a whole object.
    """

    def __init__(self, prefix: str = "") -> None:
        super().__init__()
        self.prefix = prefix

    def path(self, name: str) -> str:
        """The path of a field."""
        name = name.removeprefix(".")
        if name and self.prefix:
            return f"{self.prefix}.{name}"
        return name or self.prefix or NOWHERE

    def plain(self, text: str) -> None:
        """Something is wrong that has no place of its own."""
        self.append(invalid(self.prefix or NOWHERE, "", text))
