"""AlwaysAdmit and AlwaysDeny: plugins of old times, for tests.

Source: docs "Admission Control in Kubernetes" (AlwaysAdmit, AlwaysDeny).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import Base, denied

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext


class AlwaysAdmit(Base):
    """Refuses nothing."""

    name = "AlwaysAdmit"
    operations = frozenset()


class AlwaysDeny(Base):
    """Refuses everything, except what the server needs itself."""

    name = "AlwaysDeny"
    operations = frozenset(Operation)
    about_own = False

    async def mutate(self, attributes: Attributes) -> None:
        """Refuse.

        Raises:
            ApiError: 403.
        """
        raise denied(attributes, "admission control is denying all modifications")

    async def validate(self, attributes: Attributes) -> None:
        """Refuse; raises as `mutate`."""
        await self.mutate(attributes)


def always_admit(_: PluginContext) -> Plugin:
    """Make the plugin AlwaysAdmit."""
    return AlwaysAdmit()


def always_deny(_: PluginContext) -> Plugin:
    """Make the plugin AlwaysDeny."""
    return AlwaysDeny()
