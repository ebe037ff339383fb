"""The admission chain: mutate in order, then validate (docs: "Admission control").

A plugin handles the operations it names.  Mutation happens before the kind's own validation,
validation behind it, so a plugin sees what will be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base


class Plugin(Protocol):
    """An admission plugin.

    Attributes:
        name: its name in ``--enable-admission-plugins``.
        operations: operations it is asked about.
    """

    name: str
    operations: frozenset[Operation]

    async def mutate(self, attributes: Attributes) -> None:
        """Change the object or raise an `ApiError`."""
        ...

    async def validate(self, attributes: Attributes) -> None:
        """Raise an `ApiError` to refuse."""
        ...


class Chain:
    """Plugins in order.

    Args:
        plugins: all enabled plugins; each operation gets those that handle it.
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._mutating = self._asked("mutate")
        self._validating = self._asked("validate")

    def _asked(self, phase: str) -> dict[Operation, tuple[Plugin, ...]]:
        """Plugins by operation; those that leave a phase to the base class are not asked in it."""
        idle = getattr(Base, phase)
        return {
            operation: tuple(
                plugin
                for plugin in self.plugins
                if operation in plugin.operations and getattr(type(plugin), phase, None) is not idle
            )
            for operation in Operation
        }

    async def mutate(self, attributes: Attributes) -> None:
        """Run mutating plugins.

        Raises:
            ApiError: the first refusal.
        """
        for plugin in self._mutating[attributes.operation]:
            await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run validating plugins; raises as `mutate`."""
        for plugin in self._validating[attributes.operation]:
            await plugin.validate(attributes)
