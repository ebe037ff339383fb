"""Nodes by their ports."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.scheduler.plugins.ports import taken
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.testing.scheduling import cluster, node, pod, reasons


def serving(name: str, on: str = "", **port: Any) -> PodView:
    """A pod with one port."""
    return pod(name, on, containers=[{"name": "c", "ports": [{"containerPort": 1, **port}]}])


@pytest.mark.parametrize(
    ("port", "clashes"),
    [
        ({"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 81}, False),
        ({}, False),
    ],
)
def test_ports_are_taken_once(port: dict[str, Any], clashes: bool) -> None:
    """For each protocol and address; any address is every address."""
    there = serving("there", "a", hostPort=80, hostIP="10.0.0.1")
    state = cluster([node("a"), node("b")], there)
    found = reasons(taken(serving("p", **port), state), state)
    text = ("node(s) didn't have free ports for the requested pod ports",)
    assert found == ({"a": text} if clashes else {})
    state.put(there.key, None)
    assert reasons(taken(serving("p", **port), state), state) == {}
