"""KubeSchedulerConfigurations: what is read of them, and what is refused and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.controllers.scheduler.configuration import load, parsed
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.profiles import Configuration, Profile
from kubetrio.controllers.scheduler.reading import ConfigurationError

Object = dict[str, Any]


def read(*profiles: Object, **more: Any) -> Configuration:
    """A configuration with profiles."""
    top = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return parsed(yaml.safe_dump({**top, "profiles": list(profiles), **more}).encode())


def alone(**profile: Any) -> Profile:
    """The only profile."""
    return read(profile).profiles["default-scheduler"]


def args(plugin: str, **more: Any) -> Profile:
    """The only profile, with arguments of a plugin."""
    return alone(pluginConfig=[{"name": plugin, "args": more}])


def test_an_empty_configuration_is_the_usual_one() -> None:
    """All plugins, with their weights, for pods that name no other scheduler."""
    found = read(leaderElection={"leaderElect": False}, clientConnection={"qps": 5})
    assert list(found.profiles) == ["default-scheduler"]
    profile = found.profiles["default-scheduler"]
    assert (profile.filters, profile.scores, profile.preempts) == (FILTERS, SCORES, True)
    assert (found.first_backoff_s, found.longest_backoff_s) == (1.0, 10.0)


def test_several_profiles() -> None:
    """As in the documentation of Kubernetes: one of them rates nothing."""
    off = {"preScore": {"disabled": [{"name": "*"}]}, "score": {"disabled": [{"name": "*"}]}}
    found = read(
        {"schedulerName": "default-scheduler"},
        {"schedulerName": "no-scoring-scheduler", "plugins": off},
        podInitialBackoffSeconds=2, podMaxBackoffSeconds=30, percentageOfNodesToScore=50,
    )  # fmt: skip
    assert found.profiles["no-scoring-scheduler"].scores == ()
    assert found.profiles["no-scoring-scheduler"].filters == FILTERS
    assert found.profiles["default-scheduler"].enough(1000) == 500
    assert (found.first_backoff_s, found.longest_backoff_s) == (2.0, 30.0)


def test_weights_and_points() -> None:
    """A plugin is off at one point and on at another, and has another weight."""
    profile = alone(plugins={
        "multiPoint": {"disabled": [{"name": "NodePorts"}],
                       "enabled": [{"name": "TaintToleration", "weight": 7}]},
        "filter": {"disabled": [{"name": "TaintToleration"}]},
        "score": {"disabled": [{"name": "NodeAffinity"}],
                  "enabled": [{"name": "PodTopologySpread", "weight": 5}]},
        "postFilter": {"disabled": [{"name": "DefaultPreemption"}]},
    })  # fmt: skip
    names = {one.name for one in profile.filters}
    assert names == {one.name for one in FILTERS} - {"NodePorts", "TaintToleration"}
    weights = {one.name: one.weight for one in profile.scores}
    assert (weights["TaintToleration"], weights["PodTopologySpread"]) == (7, 5)
    assert "NodeAffinity" not in weights
    assert not profile.preempts


def test_only_those_that_are_named() -> None:
    """All others are off; those that are named for a point come first."""
    profile = alone(plugins={"multiPoint": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": "NodeResourcesFit"}, {"name": "NodeAffinity"}],
    }, "filter": {"enabled": [{"name": "NodeAffinity"}]}})  # fmt: skip
    assert [one.name for one in profile.filters] == ["NodeAffinity", "NodeResourcesFit"]
    assert [(one.name, one.weight) for one in profile.scores] == [
        ("NodeResourcesFit", 1), ("NodeAffinity", 2),
    ]  # fmt: skip


REFUSED: dict[str, tuple[Object, str]] = {
    "an extender": ({"extenders": [{"urlPrefix": "http://x"}]}, "extenders: no extender is called"),
    "what is not known": ({"nonsense": 1}, "nonsense: is not known"),
    "a share above all": (
        {"percentageOfNodesToScore": 101},
        "percentageOfNodesToScore must be a whole number from 0 to 100",
    ),
    "a shorter longest back-off": (
        {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
        "podMaxBackoffSeconds must be a whole number from 5 to",
    ),
    "two without names": (
        {"profiles": [{}, {}]}, "profiles[0].schedulerName: each of several profiles needs one",
    ),
    "one name twice": (
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        "profiles[1].schedulerName: a is there twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_of_all(name: str) -> None:
    """It says where and why."""
    more, text = REFUSED[name]
    with pytest.raises(ConfigurationError) as caught:
        read(**({"profiles": []} | more)) if "profiles" in more else read(**more)
    assert str(caught.value).startswith(text)


PLUGINS: dict[str, tuple[Object, str]] = {
    "an unknown one": ({"filter": {"enabled": [{"name": "Mine"}]}}, "there is no plugin 'Mine'"),
    "one that is not here": (
        {"score": {"enabled": [{"name": "ImageLocality"}]}}, "ImageLocality is not simulated",
    ),
    "one that is always on": (
        {"multiPoint": {"disabled": [{"name": "DefaultBinder"}]}}, "DefaultBinder is always on",
    ),
    "a part": (
        {"filter": {"disabled": [{"name": "VolumeZone"}]}},
        "VolumeZone is a part of VolumeBinding here",
    ),
    "another order": (
        {"queueSort": {"enabled": [{"name": "Mine"}]}}, "PrioritySort is the only plugin for it",
    ),
    "a wrong point": (
        {"score": {"enabled": [{"name": "NodePorts"}]}},
        "the plugin 'NodePorts' does nothing at this point",
    ),
    "a point that is not here": ({"permit": {}}, "plugins.permit: is not known"),
    "twice": (
        {"score": {"enabled": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}},
        "NodeAffinity is there twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLUGINS)
def test_plugins_that_are_refused(name: str) -> None:
    """It says where and why."""
    plugins, text = PLUGINS[name]
    with pytest.raises(ConfigurationError) as caught:
        alone(plugins=plugins)
    assert str(caught.value).startswith("profiles[0].plugins")
    assert text in str(caught.value)


WRONG: dict[str, tuple[str, Object, str]] = {
    "no such strategy": (
        "NodeResourcesFit", {"scoringStrategy": {"type": "Best"}}, "there is no strategy 'Best'",
    ),
    "a shape without points": (
        "NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
        "shape: needs a point",
    ),
    "a shape that goes back": (
        "NodeResourcesFit", {"scoringStrategy": {
            "type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": [
                {"utilization": 5, "score": 1}, {"utilization": 5, "score": 2}]}}},
        "utilization must be more than the one before",
    ),
    "a weight above all": (
        "InterPodAffinity", {"hardPodAffinityWeight": 101}, "must be a whole number from 0 to 100",
    ),
    "constraints of the system": (
        "PodTopologySpread", {"defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]},
        "when .defaultingType is System there are none",
    ),
    "a constraint with a selector": (
        "PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {"matchLabels": {"a": "b"}}}]},
        "labelSelector: is that of the pod's owners",
    ),
    "other resources": (
        "NodeResourcesBalancedAllocation", {"resources": [{"name": "gpu", "weight": 1}]},
        "only cpu and memory are balanced",
    ),
    "no candidates": (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
        "both numbers of candidates cannot be 0",
    ),
    "arguments of another": (
        "NodeAffinity", {"kind": "InterPodAffinityArgs"}, "must be NodeAffinityArgs of",
    ),
    "a plugin without arguments": ("NodePorts", {}, "the plugin 'NodePorts' takes no arguments"),
    "unknown members": ("NodeAffinity", {"added": {}}, "args.added: is not known"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_are_refused(name: str) -> None:
    """It says where and why."""
    plugin, given, text = WRONG[name]
    with pytest.raises(ConfigurationError) as caught:
        args(plugin, **given)
    assert str(caught.value).startswith("profiles[0].pluginConfig[0]")
    assert text in str(caught.value)


def test_arguments_that_count() -> None:
    """They make other plugins; those that mean nothing here change none."""
    assert args("VolumeBinding", bindTimeoutSeconds=600).filters == FILTERS
    profile = args("DefaultPreemption", minCandidateNodesAbsolute=5)
    assert (profile.candidates, profile.candidate_share) == (5, 10)
    changed = args("PodTopologySpread", defaultingType="List")
    assert [one.name for one in changed.filters] == [one.name for one in FILTERS]
    assert [one.prepare is other.prepare for one, other in
            zip(changed.filters, FILTERS, strict=True)].count(False) == 1  # fmt: skip


def test_a_file(tmp_path: Path) -> None:
    """One that is missing, is no YAML or is of another kind is refused."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(tmp_path / "none")
    with pytest.raises(ConfigurationError, match="it must be a KubeSchedulerConfiguration of"):
        parsed(b"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration")
    with pytest.raises(ConfigurationError):
        parsed(b"a: [")
