"""Which plugins of a profile are on: the usual ones, but for what its ``plugins`` say.

Source: docs "Scheduler Configuration" (plugins, MultiPoint);
k8s.io/kubernetes/pkg/scheduler/apis/config/v1 (``mergePlugins``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubetrio.controllers.scheduler.framework import Filter, Score
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members

PREEMPTION = "DefaultPreemption"
_FILTERS = {one.name: one for one in FILTERS}
_SCORES = {one.name: one for one in SCORES}
_NEEDED = ("PrioritySort", "SchedulingGates", "DefaultBinder")
"""Plugins without which nothing is scheduled."""
_PARTS = {"NodeName": "the binding of pods", "VolumeZone": "VolumeBinding"}
"""Plugins that are a part of something else here."""
_ABSENT = (
    "GangScheduling",
    "ImageLocality",
    "NodeDeclaredFeatures",
    "NodeVolumeLimits",
    "VolumeRestrictions",
)
"""Plugins of kube-scheduler that are not here; to switch them off is no change."""
_KNOWN = (*_FILTERS, *_SCORES, PREEMPTION, *_NEEDED, *_PARTS, *_ABSENT)
ALL = "*"
_MULTI, _FILTER, _SCORE, _POST = "multiPoint", "filter", "score", "postFilter"
_POINTS = (_MULTI, _FILTER, _SCORE, _POST)
_WITHOUT = ("preScore",)
"""Points that may be switched off with others and do nothing by themselves here."""


class Enabled(NamedTuple):
    """The plugins of a profile.

    Args:
        filters: in order.
        scores: with their weights.
        preempts: whether the plugin that preempts is on.
    """

    filters: tuple[Filter, ...]
    scores: tuple[Score, ...]
    preempts: bool


class _Set(NamedTuple):
    """What is said of a point: names that are off, and names that are on with weights."""

    off: frozenset[str]
    on: Mapping[str, int]

    def merged(self, usual: Mapping[str, int]) -> dict[str, int]:
        """The names that are on, and their weights, from those that usually are.

        A weight of 0 says nothing.
        """
        on = dict(self.on)
        if ALL in self.off:
            return {name: weight or usual.get(name, 0) for name, weight in on.items()}
        enabled: dict[str, int] = {}
        for name, weight in usual.items():
            if name in on:
                enabled[name] = on.pop(name) or weight
            elif name not in self.off:
                enabled[name] = weight
        return enabled | on


def enabled_plugins(plugins: Members) -> Enabled:
    """Read which plugins are on.

    Args:
        plugins: of a profile.

    Raises:
        ConfigurationError: it names what is not known, or is not here.
    """
    sets = {point: _read(plugins.member(point)) for point in _POINTS}
    for point in _WITHOUT:
        if _read(plugins.member(point)).on:
            raise ConfigurationError(f"{plugins.path}.{point}.enabled: name it for score")
    _only(plugins, "queueSort", "PrioritySort")
    _only(plugins, "bind", "DefaultBinder")
    plugins.end()
    both = {name: _SCORES[name].weight if name in _SCORES else 0 for name in _KNOWN}
    multi = sets[_MULTI].merged(both)
    scored = {name: weight for name, weight in multi.items() if name in _SCORES}
    scores = sets[_SCORE].merged(scored)
    filters = sets[_FILTER].merged({name: 0 for name in multi if name in _FILTERS})
    # Those that are named for the point come first, in their order.
    named = [name for name in sets[_FILTER].on if name in filters]
    order = [*named, *(name for name in filters if name not in named)]
    post = sets[_POST].merged({name: 0 for name in multi if name == PREEMPTION})
    for point, names, table in ((_FILTER, filters, _FILTERS), (_SCORE, scores, _SCORES)):
        for name in names:
            if name not in table:
                text = f"the plugin {name!r} does nothing at this point"
                raise ConfigurationError(f"{plugins.path}.{point}.enabled: {text}")
    return Enabled(
        tuple(_FILTERS[name] for name in order),
        tuple(_SCORES[name]._replace(weight=weight or 1) for name, weight in scores.items()),
        PREEMPTION in post,
    )


def _read(members: Members) -> _Set:
    off = set()
    for one in members.each("disabled"):
        name = one.text("name")
        one.take("weight")
        one.end()
        if name in _NEEDED:
            raise ConfigurationError(f"{one.path}.name: {name} is always on")
        if name in _PARTS:
            raise ConfigurationError(f"{one.path}.name: {name} is a part of {_PARTS[name]} here")
        if name != ALL and name not in _KNOWN:
            raise ConfigurationError(f"{one.path}.name: there is no plugin {name!r}")
        off.add(name)
    on = {}
    for one in members.each("enabled"):
        name, weight = one.text("name"), one.number("weight", 0, 0, 100)
        one.end()
        if name in _ABSENT:
            raise ConfigurationError(f"{one.path}.name: {name} is not simulated")
        if name not in _KNOWN:
            raise ConfigurationError(f"{one.path}.name: there is no plugin {name!r}")
        if name in on:
            raise ConfigurationError(f"{one.path}.name: {name} is there twice")
        on[name] = weight
    members.end()
    return _Set(frozenset(off), on)


def _only(plugins: Members, point: str, name: str) -> None:
    """Take a point that has one plugin and cannot have another."""
    members = plugins.member(point)
    names = {one.text("name") for one in members.each("enabled")}
    members.take("disabled")
    members.end()
    if names - {name}:
        raise ConfigurationError(f"{plugins.path}.{point}: {name} is the only plugin for it")
