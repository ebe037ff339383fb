"""KubeSchedulerConfigurations: what is read of them, and what is refused and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.controllers.scheduler.configuration import load, parsed
from kubetrio.controllers.scheduler.framework import Rejected
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.profiles import Configuration, Profile
from kubetrio.controllers.scheduler.reading import ConfigurationError
from kubetrio.testing.scheduling import cluster, node, pod

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
    assert (profile.preempts, profile.frees_devices) == (False, True)
    profile = alone(plugins={"postFilter": disabled("DynamicResources")})
    assert (profile.preempts, profile.frees_devices) == (True, False)


NEEDED = ({"name": "PrioritySort"}, {"name": "DefaultBinder"})
MAKING = "initializing profiles: creating profile for scheduler name default-scheduler: "
ARGS = "profiles[0].pluginConfig[0].args."
FORM = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def enabled(*plugins: str | Object) -> Object:
    """A set with plugins that are on."""
    return {"enabled": [{"name": one} if isinstance(one, str) else one for one in plugins]}


def disabled(*plugins: str) -> Object:
    """A set with plugins that are off."""
    return {"disabled": [{"name": one} for one in plugins]}


def only(*plugins: str | Object) -> Object:
    """A set of which all others are off."""
    return {**disabled("*"), **enabled(*plugins)}


def test_only_those_that_are_named() -> None:
    """All others are off; those that are named for a point come first."""
    profile = alone(plugins={
        "multiPoint": only(*NEEDED, "NodeResourcesFit", "NodeAffinity"),
        "filter": enabled("NodeAffinity"),
    })  # fmt: skip
    assert [one.name for one in profile.filters] == ["NodeAffinity", "NodeResourcesFit"]
    assert [(one.name, one.weight) for one in profile.scores] == [
        ("NodeResourcesFit", 1), ("NodeAffinity", 1),
    ]  # fmt: skip


WEIGHTS: dict[str, tuple[Object, int | None]] = {
    "the usual": ({}, 3),
    "of a point": ({"score": enabled({"name": "TaintToleration", "weight": 1000})}, 1000),
    "none": ({"score": enabled("TaintToleration")}, 1),
    "none at all points": ({"multiPoint": enabled("TaintToleration")}, 1),
    "both": (
        {"multiPoint": enabled({"name": "TaintToleration", "weight": 9}),
         "score": enabled({"name": "TaintToleration", "weight": 7})}, 7,
    ),
    "0 of a point": (
        {"multiPoint": enabled({"name": "TaintToleration", "weight": 9}),
         "score": enabled("TaintToleration")}, 1,
    ),
    "off": ({"score": disabled("TaintToleration")}, None),
    "off and on": ({"score": {**disabled("TaintToleration"), **enabled("TaintToleration")}}, 1),
    "off at all points and on": (
        {"multiPoint": disabled("TaintToleration"), "score": enabled("TaintToleration"),
         "preScore": enabled("TaintToleration")}, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_weight_of_a_plugin(name: str) -> None:
    """One that is named without a weight has 1, whatever its usual weight: kube-scheduler's."""
    plugins, weight = WEIGHTS[name]
    weights = {one.name: one.weight for one in alone(plugins=plugins).scores}
    assert weights.get("TaintToleration") == weight
    assert weights["NodeAffinity"] == 2


def test_what_changes_nothing() -> None:
    """Plugins that nothing needs, names that no plugin has, and arguments of such."""
    for plugins in (
        {"filter": disabled("Mine", "NodeName", "VolumeRestrictions")},
        {"score": disabled("ImageLocality"), "permit": {}, "postBind": {}},
        {"queueSort": only("PrioritySort"), "bind": only("DefaultBinder")},
    ):
        profile = alone(plugins=plugins)
        assert (profile.filters, profile.scores, profile.preempts) == (FILTERS, SCORES, True)
    assert args("NodePorts", mine=1).filters == FILTERS
    assert args("Mine", mine=1).filters == FILTERS


def test_a_plugin_that_only_rejects() -> None:
    """It is off at filter and on before: it refuses no node, but pods that can be on none."""
    profile = alone(plugins={"filter": disabled("NodeAffinity")})
    assert profile.names_nodes
    plugin = next(one for one in profile.filters if one.name == "NodeAffinity")
    state = cluster([node("n")])
    assert plugin.prepare(pod("p", nodeSelector={"disk": "ssd"}), state) is None
    field = {"key": "metadata.name", "operator": "In"}
    terms = [{"matchFields": [{**field, "values": ["a"]}, {**field, "values": ["b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    asked = pod("p", affinity={"nodeAffinity": required})
    assert plugin.prepare(asked, state) == Rejected("pod affinity terms conflict")
    profile = alone(plugins={"multiPoint": disabled("NodeAffinity")})
    assert not profile.names_nodes
    assert "NodeAffinity" not in {one.name for one in profile.filters}


def twice(name: str) -> list[Object]:
    """Profiles of one name, or without."""
    return [{"schedulerName": name}, {"schedulerName": name}] if name else [{}, {}]


REFUSED: dict[str, tuple[Object, str]] = {
    "an extender": ({"extenders": [{"urlPrefix": "http://x"}]}, "extenders: no extender is called"),
    "what is not known": ({"nonsense": 1}, 'strict decoding error: unknown field "nonsense"'),
    "what is not known of a profile": (
        {"profiles": [{"plugins": {"some": {}}}]},
        'strict decoding error: unknown field "profiles[0].plugins.some"',
    ),
    "a share above all": (
        {"percentageOfNodesToScore": 101},
        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ),
    "a share below none": (
        {"profiles": [{"percentageOfNodesToScore": -1}]},
        "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ),
    "no parallelism": (
        {"parallelism": 0},
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
    ),
    "no first back-off": (
        {"podInitialBackoffSeconds": 0},
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
    ),
    "a shorter longest back-off": (
        {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
        ("podMaxBackoffSeconds: Invalid value: 4: must be greater than or equal to "
        "PodInitialBackoffSeconds"),
    ),
    "two without names": (
        {"profiles": twice("")},
        ("[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, "
        "profiles[1].schedulerName: Duplicate value: {}]"),
    ),
    "an empty name": (
        {"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName: Required value",
    ),
    "one name twice": (
        {"profiles": twice("a")}, "profiles[1].schedulerName: Duplicate value: {}",
    ),
    "different orders": (
        {"profiles": [{"schedulerName": "a", "plugins": {"queueSort": enabled("PrioritySort")}},
                      {"schedulerName": "b"}]},
        ('profiles[1].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":null}: must be '
        "the same for all profiles"),
    ),
    "a plugin that went": (
        {"profiles": [{"plugins": {"filter": enabled("EBSLimits")}}]},
        ('profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in '
        'version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'),
    ),
    "arguments twice": (
        {"profiles": [{"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}]},
        'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_of_all(name: str) -> None:
    """The text is that of kube-scheduler 1.36.2 for the same file, but for extenders."""
    more, text = REFUSED[name]
    rest = dict(more)
    with pytest.raises(ConfigurationError) as caught:
        read(*rest.pop("profiles", []), **rest)
    assert str(caught.value) == text


PLUGINS: dict[str, tuple[Object, str]] = {
    "an unknown one": ({"filter": enabled("Mine")}, 'FilterPlugin "Mine" does not exist'),
    "an unknown one of all points": (
        {"multiPoint": enabled("Mine")}, 'PreFilterPlugin "Mine" does not exist',
    ),
    "another order": (
        {"queueSort": enabled("NodePorts")},
        'plugin "NodePorts" does not extend QueueSortPlugin plugin',
    ),
    "no order": (
        {"queueSort": disabled("*")},
        ('only one queue sort plugin required for profile with scheduler name "default-scheduler", '
        "but got 0"),
    ),
    "no binder": (
        {"multiPoint": only("PrioritySort")},
        'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
    ),
    "a wrong point": (
        {"score": enabled("NodePorts")}, 'plugin "NodePorts" does not extend ScorePlugin plugin',
    ),
    "twice": (
        {"score": enabled("NodeAffinity", "NodeAffinity")},
        'plugin "NodeAffinity" already registered as "ScorePlugin"',
    ),
    "twice at all points": (
        {"multiPoint": enabled("NodeAffinity", "NodeAffinity")},
        'plugin "NodeAffinity" already registered as "PreFilterPlugin"',
    ),
    "a weight below 0": (
        {"score": enabled({"name": "NodeAffinity", "weight": -1})},
        "score plugins: total score of Score plugins could overflow",
    ),
    # What follows kube-scheduler accepts.
    "one that is not here": (
        {"score": enabled("ImageLocality")},
        "plugins.score.enabled: ImageLocality is not simulated",
    ),
    "a part": (
        {"filter": disabled("VolumeZone")},
        "plugins.filter: VolumeZone is a part of VolumeBinding here: switch off both or none",
    ),
    "half a filter": (
        {"preFilter": disabled("NodeResourcesFit")},
        "plugins.preFilter: NodeResourcesFit cannot work at filter when it is off at preFilter",
    ),
    "half a rating": (
        {"preScore": disabled("*")},
        "plugins.preScore: TaintToleration cannot work at score when it is off at preScore",
    ),
    "half a binding": (
        {"preBind": disabled("VolumeBinding")},
        "plugins.preBind: VolumeBinding cannot work at filter when it is off at preBind",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLUGINS)
def test_plugins_that_are_refused(name: str) -> None:
    """The text is that of kube-scheduler 1.36.2, where that refuses them too."""
    plugins, text = PLUGINS[name]
    with pytest.raises(ConfigurationError) as caught:
        alone(plugins=plugins)
    assert str(caught.value) == MAKING + text


def strategy(**members: Any) -> tuple[str, Object]:
    """Arguments with a strategy."""
    return "NodeResourcesFit", {"scoringStrategy": members}


def constraints(*rows: Object, kind: str = "List") -> tuple[str, Object]:
    """Arguments with constraints."""
    return "PodTopologySpread", {"defaultingType": kind, "defaultConstraints": list(rows)}


ANYWAY = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
FIT = f'{MAKING}initializing plugin "NodeResourcesFit": '
RATIO, SHAPED = "requestedToCapacityRatio", "RequestedToCapacityRatio"
WRONG: dict[str, tuple[tuple[str, Object], str]] = {
    "no such strategy": (
        strategy(type="Best"),
        (f'{FIT}scoringStrategy.type: Unsupported value: "Best": supported values: '
        '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'),
    ),
    "no type of strategy": (
        strategy(resources=[{"name": "cpu"}]),
        (f'{FIT}scoringStrategy.type: Unsupported value: "": supported values: '
        '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'),
    ),
    "a weight of a resource": (
        strategy(type="LeastAllocated", resources=[{"name": "cpu", "weight": 101}]),
        (f"{FIT}scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu "
        "not in valid range (0, 100]"),
    ),
    "a shape of another strategy": (
        strategy(type="LeastAllocated", requestedToCapacityRatio={"shape": []}),
        f"{FIT}scoringStrategy.{RATIO}: Forbidden: must be nil when type is not {SHAPED}",
    ),
    "no shape": (
        strategy(type=SHAPED),
        f"{FIT}scoringStrategy.{RATIO}: Required value: must be specified when type is {SHAPED}",
    ),
    "a shape without points": (
        strategy(type=SHAPED, requestedToCapacityRatio={"shape": []}),
        f"{FIT}scoringStrategy.{RATIO}.shape: Required value: at least one point must be specified",
    ),
    "a shape that goes back": (
        strategy(type=SHAPED, requestedToCapacityRatio={
            "shape": [{"utilization": 5, "score": 1}, {"utilization": 5, "score": 11}]}),
        (f"{FIT}[scoringStrategy.{RATIO}.shape[1].utilization: Invalid value: 5: values must be "
        f"sorted in increasing order, scoringStrategy.{RATIO}.shape[1].score: Invalid value: 11: "
        "not in valid range [0, 10]]"),
    ),
    "resources to ignore": (
        ("NodeResourcesFit", {"ignoredResources": ["a b"], "ignoredResourceGroups": ["a/b"]}),
        (f'{FIT}[ignoredResources[0]: Invalid value: "a b": {FORM}, ignoredResourceGroups[0]: '
        "Invalid value: \"a/b\": resource group name can't contain '/']"),
    ),
    "a weight above all": (
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}),
        f"{ARGS}hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
    ),
    "constraints of the system": (
        constraints(ANYWAY, kind="System"),
        f'{ARGS}defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
    ),
    "other constraints": (
        constraints(kind="Other"),
        f'{ARGS}defaultingType: Unsupported value: "Other": supported values: "System", "List"',
    ),
    "a constraint with a selector": (
        constraints({**ANYWAY, "labelSelector": {}}),
        (f"{ARGS}defaultConstraints[0].labelSelector: Forbidden: constraint must not define a "
        "selector, as they deduced for each pod"),
    ),
    "a constraint twice": (
        constraints(ANYWAY, {**ANYWAY, "maxSkew": 2}),
        f'{ARGS}defaultConstraints[1]: Duplicate value: "{{z, ScheduleAnyway}}"',
    ),
    "constraints that make no sense": (
        constraints({"topologyKey": "a b"}, {"maxSkew": 1, "whenUnsatisfiable": "X"}),
        (f"[{ARGS}defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
        f'{ARGS}defaultConstraints[0].topologyKey: Invalid value: "a b": {FORM}, '
        f"{ARGS}defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty, "
        f"{ARGS}defaultConstraints[1].topologyKey: Required value: can not be empty, "
        f'{ARGS}defaultConstraints[1].whenUnsatisfiable: Unsupported value: "X": supported values: '
        '"DoNotSchedule", "ScheduleAnyway"]'),
    ),
    "other resources": (
        ("NodeResourcesBalancedAllocation",
         {"resources": [{"name": "gpu", "weight": 2}, {"name": "gpu", "weight": 1}]}),
        (f"[{ARGS}resources[0].weight: Invalid value: 2: must be 1, "
        f'{ARGS}resources[1].name: Duplicate value: "gpu"]'),
    ),
    "no candidates": (
        ("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}),
        (f"[{ARGS}minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time "
        f"as minCandidateNodesAbsolute, {ARGS}minCandidateNodesAbsolute: Invalid value: 0: cannot "
        "be zero at the same time as minCandidateNodesPercentage]"),
    ),
    "too many candidates": (
        ("DefaultPreemption",
         {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1}),
        (f"[{ARGS}minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100], "
        f"{ARGS}minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]"),
    ),
    "a time to bind": (
        ("VolumeBinding", {"bindTimeoutSeconds": -1}),
        (f"{ARGS}bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be "
        "a negative value"),
    ),
    "a shape for storage": (
        ("VolumeBinding", {"shape": [{"utilization": 0, "score": 1}]}),
        (f'{ARGS}shape: Invalid value: [{{"Utilization":0,"Score":1}}]: unexpected field `shape`, '
        "remove it or turn on the feature gate StorageCapacityScoring"),
    ),
    "arguments of another": (
        ("NodeAffinity", {"kind": "InterPodAffinityArgs"}),
        ("decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of type "
        "NodeAffinityArgs.kubescheduler.config.k8s.io, got "
        "InterPodAffinityArgs.kubescheduler.config.k8s.io"),
    ),
    "unknown members": (
        ("NodeAffinity", {"added": {}}),
        ("strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: "
        'decoding args for plugin NodeAffinity: strict decoding error: unknown field "added"'),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_are_refused(name: str) -> None:
    """The text is that of kube-scheduler 1.36.2 for the same file."""
    (plugin, given), text = WRONG[name]
    with pytest.raises(ConfigurationError) as caught:
        args(plugin, **given)
    assert str(caught.value) == text


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
