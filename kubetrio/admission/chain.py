"""The admission chain: mutate in order, then validate (docs: "Admission control").

A plugin handles the operations it names.  Mutation happens before the kind's own validation,
validation after it, so a plugin sees what will be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.machinery.names import GroupResource

Asked = dict[tuple[Operation, GroupResource, bool], tuple["Plugin", ...]]


class Plugin(Protocol):
    """An admission plugin.

    Attributes:
        name: its name in ``--enable-admission-plugins``.
        operations: operations it is asked about.
        about_own: whether it is asked about the server's own writes.
    """

    name: str
    operations: frozenset[Operation]
    about_own: bool

    @property
    def resources(self) -> frozenset[GroupResource] | None:
        """Resources it is asked about; None for all."""
        ...

    async def mutate(self, attributes: Attributes) -> None:
        """Change the object or raise an `ApiError`."""
        ...

    async def validate(self, attributes: Attributes) -> None:
        """Raise an `ApiError` to refuse."""
        ...


class Chain:
    """Plugins in order.

    Args:
        plugins: all enabled plugins; each write asks those that handle its like.
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._mutating: Asked = {}
        self._validating: Asked = {}

    def _ask(self, asked: Asked, phase: str, attributes: Attributes) -> tuple[Plugin, ...]:
        """Plugins with an opinion, remembered: there are few operations and resources."""
        resource = attributes.resource.group_resource
        key = (attributes.operation, resource, attributes.own)
        found = asked.get(key)
        if found is None:
            idle = getattr(Base, phase)
            found = asked[key] = tuple(
                plugin
                for plugin in self.plugins
                if attributes.operation in plugin.operations
                and (plugin.about_own or not attributes.own)
                and (plugin.resources is None or resource in plugin.resources)
                and getattr(type(plugin), phase, None) is not idle
            )
        return found

    async def mutate(self, attributes: Attributes) -> None:
        """Run mutating plugins, and once more when one of them asks for it.

        Raises:
            ApiError: the first refusal.
        """
        plugins = self._ask(self._mutating, "mutate", attributes)
        for plugin in plugins:
            await plugin.mutate(attributes)
        if attributes.repeat:
            attributes.repeating = True
            for plugin in plugins:
                await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run validating plugins; raises as `mutate`."""
        for plugin in self._ask(self._validating, "validate", attributes):
            await plugin.validate(attributes)
