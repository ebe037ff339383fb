"""Flags of the simulation of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import COUNT, FILE

GUIDE = "../how-to/simulate-a-cluster.md"


@section
class Simulation(Section):
    """Nodes without machines; see the reference of flags."""

    TITLE: ClassVar[str] = "simulation"

    nodes: int = flag(
        "simulate-nodes", COUNT, 0,
        "number of simulated nodes that the cluster has at least; 0 simulates none",
        more="With `*` in `--controllers`, the controllers of workloads, of nodes and of the "
        f"simulation run too. See [simulated clusters]({GUIDE}).",
    )  # fmt: skip
    stages: Path | None = flag(
        "simulation-stages", FILE, None,
        "file with stages of pods in kwok's shape, which take the place of the built-in life",
        more=f"See [stages]({GUIDE}#stages).",
    )  # fmt: skip
