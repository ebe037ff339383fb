"""The plugins, in kube-scheduler's order: of several reasons against a node the first is told."""

from __future__ import annotations

from kubetrio.controllers.scheduler.framework import Filter, Happening, Score
from kubetrio.controllers.scheduler.plugins import (
    devices,
    nodeaffinity,
    podaffinity,
    ports,
    resources,
    spread,
    taints,
    volumes,
)

_NODE, _PLACED, _GONE = Happening.NODE, Happening.PLACED, Happening.GONE

FILTERS: tuple[Filter, ...] = (
    Filter("NodeUnschedulable", taints.unschedulable, frozenset({_NODE})),
    Filter("TaintToleration", taints.untolerated, frozenset({_NODE})),
    Filter(nodeaffinity.NAME, nodeaffinity.not_selected, frozenset({_NODE})),
    Filter("NodePorts", ports.taken, frozenset({_NODE, _GONE})),
    Filter("NodeResourcesFit", resources.fits, frozenset({_NODE, _GONE})),
    Filter("VolumeBinding", volumes.unusable, frozenset({_NODE, Happening.VOLUME})),
    Filter("PodTopologySpread", spread.skewed, frozenset({_NODE, _PLACED, _GONE})),
    Filter("InterPodAffinity", podaffinity.not_allowed, frozenset({_NODE, _PLACED, _GONE})),
    Filter(devices.NAME, devices.unavailable, frozenset({_NODE, Happening.DEVICE})),
)
SCORES: tuple[Score, ...] = (
    Score("TaintToleration", 3, taints.preferred),
    Score("NodeAffinity", 2, nodeaffinity.preferred),
    Score("NodeResourcesFit", 1, resources.least_allocated),
    Score("PodTopologySpread", 2, spread.preferred),
    Score("InterPodAffinity", 2, podaffinity.preferred),
    Score("NodeResourcesBalancedAllocation", 1, resources.balanced),
)
