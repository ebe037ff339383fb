"""Flags of the simulation of nodes."""

from __future__ import annotations

import pytest

from kubetrio.config import Config, ConfigError, Simulation, Storage


def test_nothing_is_simulated_unless_asked_for() -> None:
    """A server is what it was before."""
    assert Config(storage=Storage(in_memory=True)).simulation.nodes == 0


def test_a_number_of_nodes_is_a_count() -> None:
    """There is no half of a node, nor less than none."""
    assert Simulation(nodes=1000).nodes == 1000
    with pytest.raises(ConfigError, match="nodes: -1"):
        Simulation(nodes=-1)
