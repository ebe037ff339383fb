"""NamespaceExists and NamespaceAutoProvision: what lives in namespaces that are not there.

Source: docs "Admission Control in Kubernetes" (NamespaceExists, NamespaceAutoProvision).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import Base, denied
from kubetrio.machinery.status import ApiError, not_found
from kubetrio.plugins.lifecycle import NAMESPACES, NamespacePhase
from kubetrio.plugins.namespaces import Provide
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire.report import Report

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext


def _inside(attributes: Attributes) -> str:
    """The namespace of a write, empty for what has none and for namespaces themselves."""
    return "" if attributes.resource.group_resource == NAMESPACES else attributes.namespace


class NamespaceExists(Base):
    """Nothing is written in a namespace that is not there.

    Args:
        phase: looks a namespace up, always live.
    """

    name = "NamespaceExists"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self, phase: NamespacePhase) -> None:
        self._phase = phase

    async def validate(self, attributes: Attributes) -> None:
        """Refuse.

        Raises:
            ApiError: 404.
        """
        namespace = _inside(attributes)
        if namespace and await self._phase(namespace) is None:
            raise not_found(NAMESPACES, namespace)


class NamespaceAutoProvision(Base):
    """A namespace is made by what is first created in it.

    Args:
        phase: looks a namespace up, always live.
        provide: makes one.
    """

    name = "NamespaceAutoProvision"

    def __init__(self, phase: NamespacePhase, provide: Provide) -> None:
        self._phase = phase
        self._provide = provide

    async def mutate(self, attributes: Attributes) -> None:
        """Make it.

        Raises:
            ApiError: 403, it cannot be made.
        """
        namespace = _inside(attributes)
        if attributes.dry_run or not namespace or await self._phase(namespace) is not None:
            return
        try:
            await self._provide(namespace)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return
            if error.reason == "Forbidden":
                raise
            raise denied(attributes, str(error)) from error


class NamespaceMaker:
    """Makes namespaces for the server.

    Args:
        registry: knows the kind.
        operations: writes, with all other plugins asked.
    """

    def __init__(self, registry: LiveRegistry, operations: Operations) -> None:
        self._registry = registry
        self._operations = operations

    async def provide(self, name: str) -> None:
        """Make one.

        Raises:
            ApiError: it is there already, or cannot be made.
        """
        kind = self._registry.resources["", "v1", "namespaces"]
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        body = scheme_of("").decode(kind.group_version_kind, body, Report(), {})
        kind.rules.default(body)
        await self._operations.create(Target(kind, "", name), body, OWN)


def auto_provision(context: PluginContext) -> Plugin:
    """Make the plugin NamespaceAutoProvision."""
    return NamespaceAutoProvision(context.namespaces.phase, context.provide())


def namespace_exists(context: PluginContext) -> Plugin:
    """Make the plugin NamespaceExists."""
    return NamespaceExists(context.namespaces.phase)
