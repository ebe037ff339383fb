"""Flags of the simulation of nodes."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any, ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import AUDIENCES, COUNT, FILE, MAX_PORT

GUIDE = "../how-to/simulate-a-cluster.md"


def _ports(target: str) -> tuple[int, int] | None:
    """The first and the last port of a range, or one port twice; None for anything else."""
    first, _, last = target.partition("-")
    numbers = first, last or first
    if not all(one.isascii() and one.isdigit() and len(one) <= 5 for one in numbers):
        return None
    low, high = map(int, numbers)
    return (low, high) if 1 <= low <= high <= MAX_PORT else None


def _is_socket(target: str) -> bool:
    """Whether a target is an absolute path, or a folder that ends in a slash."""
    path = target.removesuffix("/") if len(target) > 1 else target
    return target.startswith("/") and path != "/" and posixpath.normpath(path) == path


def _targets(chosen: Any) -> ConfigError | None:
    """Check that each target is a port, a range of ports, or a path."""
    for target in chosen.targets:
        if _ports(target) is None and not _is_socket(target):
            why = f"{target!r} is no TCP port, no range such as 8000-8099, and no absolute path"
            return error_of(type(chosen), ("targets",), why)
    return None


@section
class Simulation(Section):
    """Nodes without machines; see the reference of flags."""

    TITLE: ClassVar[str] = "simulation"
    RULES: ClassVar[tuple[Rule, ...]] = (_targets,)

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
    targets: tuple[str, ...] = flag(
        "simulation-targets",
        AUDIENCES._replace(placeholder="TARGET,...", once=True), (),
        "TCP ports of the loopback address (8080, 8000-8099) and Unix sockets (/run/x.sock, or "
        "/run/folder/ for those in it) that annotations of simulated pods may lead to",
        more="Who may make pods may reach them. "
        f"See [programs behind ports]({GUIDE}#programs-behind-ports).",
    )  # fmt: skip

    @property
    def allowed(self) -> tuple[list[tuple[int, int]], list[str]]:
        """Ranges of ports, and paths of sockets and folders, that annotations may name."""
        ranges = [both for one in self.targets if (both := _ports(one)) is not None]
        return ranges, [one for one in self.targets if _ports(one) is None]
