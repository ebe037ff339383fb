"""The plugins of kube-scheduler: all that are here are known, with the points that they need."""

from __future__ import annotations

from kubetrio.controllers.scheduler.pluginpoints import ABSENT, PLUGINS, POINTS, USUAL
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES


def test_points_of_plugins() -> None:
    """Each point is one, and what is here is not said to be absent."""
    assert {point for points in PLUGINS.values() for point in points} <= set(POINTS)
    assert not {one.name for one in FILTERS} & set(ABSENT)
    assert not {one.name for one in SCORES} & set(ABSENT)
    assert all("filter" in PLUGINS[one.name] for one in FILTERS)
    assert all("score" in PLUGINS[one.name] for one in SCORES)


def test_usual_weights() -> None:
    """Those of the plugins that rate nodes here are the weights of kube-scheduler."""
    assert {one.name: one.weight for one in SCORES}.items() <= USUAL.items()
    assert "GangScheduling" not in USUAL
