"""The admission chain: mutate in order, then validate (docs: "Admission control").

A plugin handles the operations it names.  Mutation happens before the kind's own validation,
validation after it, so a plugin sees what will be stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from trio import current_time

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.measures import ADMIT, VALIDATE, Measures
from kubetrio.admission.plugin import Base
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.observe import prometheus
from kubetrio.observe.series import Histogram

Asked = dict[tuple[Operation, GroupResource, bool], "_Round"]


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


@dataclass(frozen=True, slots=True)
class _Round:
    """Who is asked about writes of a kind, and where the time is counted that it takes.

    Args:
        asked: plugins in order, with the times of those that let pass.
        times: of all of them together.
    """

    asked: tuple[tuple[Plugin, Histogram], ...]
    times: Histogram


class Chain:
    """Plugins in order.

    Args:
        plugins: all enabled plugins; each write asks those that handle its like.
        measures: counts how long they take.
    """

    def __init__(self, plugins: Sequence[Plugin], measures: Measures | None = None) -> None:
        self.plugins = tuple(plugins)
        self.measures = measures or Measures()
        self._mutating: Asked = {}
        self._validating: Asked = {}

    def families(self) -> Iterator[prometheus.Metric]:
        """What is counted of the plugins, and what they count themselves."""
        yield from self.measures.families()
        for plugin in self.plugins:
            if isinstance(plugin, Base):
                yield from plugin.families()

    def _ask(self, asked: Asked, phase: str, attributes: Attributes) -> _Round:
        """Plugins with an opinion, remembered: there are few operations and resources."""
        resource = attributes.resource.group_resource
        key = (attributes.operation, resource, attributes.own)
        round_ = asked.get(key)
        if round_ is None:
            idle = getattr(Base, phase)
            step = _STEPS[phase], attributes.operation.value, "false"
            measures = self.measures
            plugins = tuple(
                (plugin, measures.plugins[plugin.name, *step])
                for plugin in self.plugins
                if attributes.operation in plugin.operations
                and (plugin.about_own or not attributes.own)
                and (plugin.resources is None or resource in plugin.resources)
                and getattr(type(plugin), phase, None) is not idle
            )
            round_ = asked[key] = _Round(plugins, measures.steps[step])
        return round_

    def _refused(
        self, plugin: Plugin | None, step: str, attributes: Attributes, begun: float, asked: float
    ) -> None:
        """Count a refusal: by which plugin, when the first and when that one was asked."""
        labels, now = (step, attributes.operation.value, "true"), current_time()
        self.measures.steps[labels].observe(now - begun)
        if plugin is not None:
            self.measures.plugins[plugin.name, *labels].observe(now - asked)

    async def mutate(self, attributes: Attributes) -> None:
        """Run mutating plugins, and once more when one of them asks for it.

        Raises:
            ApiError: the first refusal.
        """
        asked = self._ask(self._mutating, "mutate", attributes)
        if not asked.asked:
            return
        begun = at = current_time()
        plugin: Plugin | None = None
        spans: list[tuple[Histogram, float]] = []
        try:
            for plugin, times in asked.asked:
                await plugin.mutate(attributes)
                spans.append((times, -at + (at := current_time())))
            if attributes.repeat:
                attributes.repeating = True
                for plugin, times in asked.asked:
                    await plugin.mutate(attributes)
                    spans.append((times, -at + (at := current_time())))
        except ApiError:
            self._refused(plugin, ADMIT, attributes, begun, at)
            raise
        finally:
            for times, span_s in spans:
                times.observe(span_s)
        asked.times.observe(at - begun)

    async def validate(self, attributes: Attributes) -> None:
        """Run validating plugins; raises as `mutate`."""
        asked = self._ask(self._validating, "validate", attributes)
        if not asked.asked:
            return
        begun = at = current_time()
        plugin: Plugin | None = None
        spans: list[tuple[Histogram, float]] = []
        try:
            for plugin, times in asked.asked:
                await plugin.validate(attributes)
                spans.append((times, -at + (at := current_time())))
        except ApiError:
            self._refused(plugin, VALIDATE, attributes, begun, at)
            raise
        finally:
            for times, span_s in spans:
                times.observe(span_s)
        asked.times.observe(at - begun)


_STEPS = {"mutate": ADMIT, "validate": VALIDATE}
