"""Clusters by name, as a user has them: created, used, stopped, started, deleted."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
import yaml
from kubectl_runner import KUBECTL

from kubetrio.outgoing.target import from_kubeconfig

pytestmark = pytest.mark.e2e
PAGE = "docs/how-to/clusters.md"
TIMEOUT_S = 90


class User:
    """A user with a home directory; the clusters end with the test."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / ".kube" / "config"
        kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        self.environ = {**kept, "HOME": str(home), "XDG_STATE_HOME": ""}

    def types(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command of kubetrio and see that it ends with a code."""
        return self.runs(sys.executable, "-m", "kubetrio", *arguments, code=code)

    def runs(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command and see that it ends with a code."""
        done = subprocess.run(
            words,
            check=False, capture_output=True, text=True, timeout=TIMEOUT_S,
            env=self.environ, cwd=self.home,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    made = User(tmp_path)
    made.environ["PYTHONPATH"] = str(Path(__file__).parent.parent.parent)
    yield made
    for name in made.types("list", "-o", "name").stdout.split():
        made.types("delete", name)


def test_the_life_of_a_cluster(user: User) -> None:
    """As the page has it, with what is true between its commands; no directory is named."""
    create, kubectl, stop, start, delete = map(
        shlex.split, pages.blocks(PAGE, "sh")[0].splitlines()
    )
    said = user.types(*create[1:]).stdout.splitlines()
    assert said[0].startswith("kubetrio ")
    assert said[-1].startswith("kubetrio stop dev  # ends it; log: ")
    port = said[0].rpartition(":")[2]
    assert yaml.safe_load(user.config.read_text())["current-context"] == "kubetrio-dev"
    assert from_kubeconfig(user.config).url.endswith(f":{port}")
    [row] = json.loads(user.types("list", "-o", "json").stdout)
    assert (row["name"], row["state"]) == ("dev", "Ready")
    assert user.types("status").stdout.startswith("kubetrio is ready")  # of the current context
    if KUBECTL is not None:
        assert "kube-system" in user.runs(*kubectl).stdout
    again = user.types(*create[1:], code=1)
    assert "kubetrio start dev" in again.stderr
    second = user.types(*start[1:])
    assert second.stdout.startswith("cluster dev runs already: process ")
    given = user.types("kubeconfig", "--user", "alice", "--group", "devs").stdout
    assert yaml.safe_load(given)["users"][0]["name"] == "alice"
    exported = user.types("export", "--cluster", "dev", "ns/default", "--all").stdout
    assert yaml.safe_load(exported)["metadata"]["name"] == "default"
    user.types(*stop[1:])
    user.types("status", "dev", code=3)
    assert user.types(*start[1:]).stdout.splitlines()[0].endswith(f":{port}")
    assert user.types(*delete[1:]).stdout.endswith("deleted: cluster dev\n")
    assert yaml.safe_load(user.config.read_text())["contexts"] == []
    assert list((user.home / ".local/state/kubetrio").iterdir()) == []


def test_a_cluster_that_cannot_start_leaves_nothing(user: User) -> None:
    """One line says why."""
    said = user.types("create", "dev", "--token-auth-file", "tokens.csv", code=1)
    assert said.stderr.count("\n") == 1
    assert "tokens.csv" in said.stderr
    assert user.types("list", "-o", "name").stdout == ""
    assert not (user.home / ".local/state/kubetrio/dev").exists()
    assert not user.config.exists()
