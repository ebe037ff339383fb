"""``kubetrio nodes``: words to Nodes, and a server that runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.cli.common import Failure
from kubetrio.cli.nodes import capacity_of, node_of
from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]


def test_capacities() -> None:
    """They say how many pods there may be; nothing means the usual."""
    assert capacity_of("") == {}
    assert capacity_of("cpu=4,memory=8Gi") == {"pods": "110", "cpu": "4", "memory": "8Gi"}
    assert capacity_of("pods=9")["pods"] == "9"


@pytest.mark.parametrize(
    ("text", "why"),
    [("cpu", "'cpu' is not RESOURCE=QUANTITY"), ("cpu=much", "'cpu=much': quantities must match")],
)
def test_other_capacities_are_refused(text: str, why: str) -> None:
    """In one line."""
    with pytest.raises(Failure, match=why):
        capacity_of(text)


def test_nodes() -> None:
    """They are marked as simulated, and have no range of addresses yet."""
    node = node_of("node-4", {}, "")
    assert node["metadata"]["annotations"] == {"simulation.kubetrio.io/node": "true"}
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "simulated-b"
    assert "spec" not in node
    assert "status" not in node
    other = node_of("large", {"cpu": "64"}, "far")
    assert other["metadata"]["labels"]["topology.kubernetes.io/zone"] == "far"
    assert other["status"] == {"capacity": {"cpu": "64"}}


@pytest.mark.e2e
def test_nodes_of_a_server_that_runs(start_server: Start, tmp_path: Path) -> None:
    """Added and removed; a server that simulates none says what to do."""
    data = tmp_path / "data"

    def nodes(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "kubetrio", "nodes", *words, "--data-dir", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    usual = start_server(data)
    text = "the server simulates no nodes: start it with kubetrio serve --simulate-nodes N"
    assert nodes("add", "a") == (1, "", f"kubetrio: {text}\n")
    usual.stop()
    start_server(data, "--simulate-nodes", "1")
    made = nodes("add", "large", "--capacity", "cpu=64,memory=1Gi", "--zone", "far")
    assert made == (0, "node/large created\n", "")
    code, out, _ = nodes("add", "--count", "2")
    assert (code, len(out.splitlines())) == (0, 2)
    assert nodes("remove", "large") == (0, "node/large deleted\n", "")
    assert nodes("remove", "large")[0] == 1
    code, _, err = nodes("add", "large", "--count", "2")
    assert (code, "add takes either names or --count" in err) == (2, True)
