"""What the steps of a write use."""

from __future__ import annotations

from .world import CONFIGMAPS, RESOURCES, World


def test_objects_live_as_long_as_their_kind_says(world: World) -> None:
    """Events for the time of the configuration; others stay for good."""
    parts = world.parts
    assert parts.time_to_live_s(RESOURCES["events.k8s.io", "v1", "events"].stored) == 3600
    assert parts.time_to_live_s(CONFIGMAPS) == 0
