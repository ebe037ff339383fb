"""The plugins of kube-scheduler, the points at which each does something, and which are on.

Source: docs "Scheduler Configuration" (extension points, scheduling plugins);
k8s.io/kubernetes/pkg/scheduler/framework/plugins; k8s.io/kubernetes/pkg/scheduler/apis/config/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

MULTI = "multiPoint"
POINTS: Mapping[str, str] = {
    "preFilter": "PreFilterPlugin",
    "filter": "FilterPlugin",
    "postFilter": "PostFilterPlugin",
    "reserve": "ReservePlugin",
    "preScore": "PreScorePlugin",
    "score": "ScorePlugin",
    "preBind": "PreBindPlugin",
    "bind": "BindPlugin",
    "postBind": "PostBindPlugin",
    "permit": "PermitPlugin",
    "preEnqueue": "PreEnqueuePlugin",
    "queueSort": "QueueSortPlugin",
    "placementGenerate": "PlacementGeneratePlugin",
    "placementScore": "PlacementScorePlugin",
}
"""The points, and what kube-scheduler calls a plugin for each."""

PLUGINS: Mapping[str, frozenset[str]] = {
    name: frozenset(points.split())
    for name, points in {
        "SchedulingGates": "preEnqueue",
        "PrioritySort": "queueSort",
        "NodeUnschedulable": "filter",
        "NodeName": "filter",
        "TaintToleration": "filter preScore score",
        "NodeAffinity": "preFilter filter preScore score",
        "NodePorts": "preFilter filter",
        "NodeResourcesFit": "preFilter filter preScore score placementScore",
        "VolumeRestrictions": "preFilter filter",
        "NodeVolumeLimits": "preFilter filter",
        "VolumeBinding": "preFilter filter reserve preBind preScore score",
        "VolumeZone": "preFilter filter",
        "PodTopologySpread": "preFilter filter preScore score",
        "InterPodAffinity": "preFilter filter preScore score",
        "DynamicResources": "preEnqueue preFilter filter postFilter reserve preBind score",
        "DefaultPreemption": "preEnqueue postFilter",
        "NodeResourcesBalancedAllocation": "preScore score",
        "ImageLocality": "score",
        "DefaultBinder": "bind",
        "NodeDeclaredFeatures": "preFilter filter",
        "GangScheduling": "preEnqueue permit",
        "PodGroupPodsCount": "placementScore",
        "TopologyPlacementGenerator": "placementGenerate",
    }.items()
}
"""The plugins, and their points."""

_OFF = ("GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator")
_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
USUAL: Mapping[str, int] = {name: _WEIGHTS.get(name, 0) for name in PLUGINS if name not in _OFF}
"""Plugins that are on where nothing is said, in order, and their weights."""

REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
"""Plugins that kube-scheduler no longer has, and has a message for."""

ABSENT = (
    "GangScheduling",
    "ImageLocality",
    "NodeDeclaredFeatures",
    "NodeVolumeLimits",
    "PodGroupPodsCount",
    "TopologyPlacementGenerator",
    "VolumeRestrictions",
)
"""Plugins that are not here; to switch them off is no change."""
