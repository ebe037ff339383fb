"""Which plugins of a profile are on: the usual ones, but for what its ``plugins`` say.

A plugin is one thing here, and several in kube-scheduler, which calls it at several points.  A
profile that switches it off at one of them and leaves it on at another, where it could not work
without, is refused.

Source: docs "Scheduler Configuration" (plugins, MultiPoint);
k8s.io/kubernetes/pkg/scheduler/apis/config/v1 (``mergePlugins``);
k8s.io/kubernetes/pkg/scheduler/framework/runtime (``expandMultiPointPlugins``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.controllers.scheduler.framework import Filter, Score
from kubetrio.controllers.scheduler.pluginpoints import (
    ABSENT,
    MULTI,
    PLUGINS,
    POINTS,
    REMOVED,
    USUAL,
)
from kubetrio.controllers.scheduler.plugins import devices
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members
from kubetrio.machinery.fielderrors import invalid

PREEMPTION, AFFINITY = "DefaultPreemption", "NodeAffinity"
QUEUE = "queueSort"
API_VERSION = "kubescheduler.config.k8s.io/v1"
ALL = "*"
_FILTERS = {one.name: one for one in FILTERS}
_SCORES = {one.name: one for one in SCORES}
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "filter": ("preFilter", "reserve", "preBind"),
    "score": ("preScore",),
    "postFilter": ("preEnqueue", "preFilter"),
}
"""Points of a plugin without which it cannot work at another."""
_ALONE = frozenset({
    ("NodeAffinity", "preScore"),
    ("NodeResourcesFit", "preScore"),
    ("NodeResourcesBalancedAllocation", "preScore"),
    ("VolumeBinding", "preScore"),
    ("DynamicResources", "preEnqueue"),
})  # fmt: skip
"""Plugins that do work without one of those."""


class Enabled(NamedTuple):
    """The plugins of a profile.

    Args:
        filters: in order.
        rejecting: those that only say whether a pod can be on any node.
        scores: with their weights.
        preempts: whether the plugin that preempts is on.
        frees_devices: whether the plugin for devices takes back those of idle claims.
        names_nodes: whether affinity that names nodes leaves out all others.
    """

    filters: tuple[Filter, ...]
    rejecting: tuple[Filter, ...]
    scores: tuple[Score, ...]
    preempts: bool
    frees_devices: bool
    names_nodes: bool


class PluginSet(NamedTuple):
    """What is said of a point.

    Args:
        off: names of plugins.
        on: names and weights, 0 where none is given.
    """

    off: tuple[str, ...]
    on: tuple[tuple[str, int], ...]

    def shown(self) -> dict[str, Any]:
        """The set as kube-scheduler prints it."""
        return {
            "Enabled": [{"Name": name, "Weight": weight} for name, weight in self.on] or None,
            "Disabled": [{"Name": name, "Weight": 0} for name in self.off] or None,
        }


Sets = Mapping[str, PluginSet]


def plugin_sets(plugins: Members) -> Sets:
    """Read what is said of each point.

    Args:
        plugins: of a profile.

    Raises:
        ConfigurationError: it has other members.
    """
    sets = {point: _read(plugins.member(point), point) for point in (MULTI, *POINTS)}
    plugins.end()
    return sets


def _read(members: Members, point: str) -> PluginSet:
    off, on = [], []
    for one in members.each("disabled"):
        off.append(one.text("name"))
        one.whole("weight", 0)
        one.end()
    for one in members.each("enabled"):
        name = one.text("name")
        on.append((name, one.whole("weight", 0)))
        one.end()
        if name in REMOVED and point != MULTI:
            text = f'(KubeSchedulerConfiguration is version "{API_VERSION}")'
            members.say(invalid(one.path, name, f'was invalid in version "v1" {text}'))
    members.end()
    return PluginSet(tuple(off), tuple(on))


def enabled_plugins(sets: Sets, profile: str) -> Enabled:
    """Say which plugins are on.

    Args:
        sets: what is said of each point.
        profile: name of the profile.

    Raises:
        ConfigurationError: kube-scheduler would not start with them, or they ask for what is not
            here.
    """
    for point in POINTS:
        _check_named(point, sets[point])
    multi = _merged(sets[MULTI])
    on = {point: _expanded(point, sets[point], multi) for point in POINTS}
    of_profile = f'for profile with scheduler name "{profile}"'
    if (count := len(on[QUEUE])) != 1:
        text = f"only one queue sort plugin required {of_profile}, but got {count}"
        raise ConfigurationError(text)
    if not on["bind"]:
        raise ConfigurationError(f"at least one bind plugin is needed {of_profile}")
    weights = _weights(sets["score"], multi)
    _check_honored(sets, on)
    filters, before = on["filter"], on["preFilter"]
    return Enabled(
        tuple(_FILTERS[name] for name in filters if name in _FILTERS),
        tuple(_FILTERS[name] for name in before if name in _FILTERS and name not in filters),
        tuple(
            _SCORES[name]._replace(weight=weights[name]) for name in on["score"] if name in _SCORES
        ),
        PREEMPTION in on["postFilter"],
        devices.NAME in on["postFilter"],
        AFFINITY in before,
    )


def _check_named(point: str, plugin_set: PluginSet) -> None:
    """Check plugins that are named for a point."""
    kind, names = POINTS[point], set()
    for name, _ in plugin_set.on:
        if name not in PLUGINS:
            raise ConfigurationError(f'{kind} "{name}" does not exist')
        if point not in PLUGINS[name]:
            raise ConfigurationError(f'plugin "{name}" does not extend {kind} plugin')
        if name in names:
            raise ConfigurationError(f'plugin "{name}" already registered as "{kind}"')
        names.add(name)


def _merged(plugin_set: PluginSet) -> list[tuple[str, int]]:
    """The plugins that are on at several points: the usual, with other weights, and more.

    The weight of a plugin that is named is the one given there, if there is none then 1.
    """
    last = {name: place for place, (name, _) in enumerate(plugin_set.on)}
    used: set[int] = set()
    merged: list[tuple[str, int]] = []
    for name, weight in USUAL.items() if ALL not in plugin_set.off else ():
        if name in plugin_set.off:
            continue
        place = last.get(name)
        if place is None:
            merged.append((name, weight))
        else:
            used.add(place)
            merged.append(plugin_set.on[place])
    return merged + [one for place, one in enumerate(plugin_set.on) if place not in used]


def _expanded(point: str, plugin_set: PluginSet, multi: Sequence[tuple[str, int]]) -> list[str]:
    """The plugins at a point, in order."""
    named = [name for name, _ in plugin_set.on]
    if ALL in plugin_set.off:
        return named
    again: list[str] = []
    more: list[str] = []
    for name, _ in multi:
        if name not in PLUGINS:
            raise ConfigurationError(f'{POINTS[point]} "{name}" does not exist')
        if point not in PLUGINS[name] or name in plugin_set.off:
            continue
        if name in named:
            again.append(name)
        elif name in more:
            raise ConfigurationError(f'plugin "{name}" already registered as "{POINTS[point]}"')
        else:
            more.append(name)
    # Those named for the point that are usual too come first, and those that are not come last.
    first = [name for name in named if name in again]
    return [*first, *more, *(name for name in named if name not in again)]


def _weights(plugin_set: PluginSet, multi: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The weights of plugins that rate nodes."""
    weights: dict[str, int] = {}
    for name, weight in (*plugin_set.on, *multi):
        if "score" in PLUGINS[name]:
            weights.setdefault(name, weight or 1)
    if any(weight < 0 for weight in weights.values()):
        raise ConfigurationError("score plugins: total score of Score plugins could overflow")
    return weights


def _check_honored(sets: Sets, on: Mapping[str, Sequence[str]]) -> None:
    """Refuse what would not be as it is in kube-scheduler."""
    for point, plugin_set in sets.items():
        for name, _ in plugin_set.on:
            if name in ABSENT:
                raise ConfigurationError(f"plugins.{point}.enabled: {name} is not simulated")
    if ("VolumeBinding" in on["filter"]) != ("VolumeZone" in on["filter"]):
        text = "VolumeZone is a part of VolumeBinding here: switch off both or none"
        raise ConfigurationError(f"plugins.filter: {text}")
    for point, needs in _NEEDS.items():
        for name in on[point]:
            for need in needs:
                if need in PLUGINS[name] and name not in on[need] and (name, need) not in _ALONE:
                    text = f"{name} cannot work at {point} when it is off at {need}"
                    raise ConfigurationError(f"plugins.{need}: {text}")
