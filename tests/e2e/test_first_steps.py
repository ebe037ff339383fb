"""What a new user does first: the examples of the documentation, as they are printed."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from kubetrio.testing import process

ROOT = Path(__file__).parent.parent.parent
EMBEDDING = {"README.md": "README.md", "embed.md": "docs/how-to/embed.md"}
READY_S = 30.0

pytestmark = pytest.mark.e2e


def first_program(path: str) -> str:
    """The first Python block of a page that runs on its own."""
    text = (ROOT / path).read_text()
    for indent, body in re.findall(r"^( *)```python\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
        if "trio.run(main)" in body:
            return textwrap.dedent(body) if indent else str(body)
    raise AssertionError(f"{path} has no program")


@pytest.mark.parametrize("path", EMBEDDING.values(), ids=EMBEDDING)
def test_ctrl_c_ends_the_example_of_embedding(path: str, tmp_path: Path) -> None:
    """In order, with nothing on standard error, and with a kubeconfig left behind."""
    running = subprocess.Popen(
        [sys.executable, "-u", "-X", "faulthandler", "-c", first_program(path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("https://127.0.0.1:")
        running.send_signal(signal.SIGINT)
        try:
            _, said = running.communicate(timeout=READY_S)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGABRT)  # says where it is
            _, said = running.communicate()
    finally:
        running.kill()
    assert (running.returncode, said) == (0, "")
    written = yaml.safe_load((tmp_path / "data" / "kubeconfig").read_text())
    assert written["current-context"] == "kubetrio-default"


def test_the_first_screen_is_all_that_a_start_prints(tmp_path: Path) -> None:
    """The address first; a path that a shell can read; what to try; where to see who waits."""
    server = process.start(tmp_path / "a b", tmp_path / "log")
    try:
        lines = server.log.read_text().splitlines()
    finally:
        server.kill()
    assert re.fullmatch(r"kubetrio \S+ is ready at https://127\.0\.0\.1:\d+", lines[0])
    assert shlex.split(lines[1]) == ["export", f"KUBECONFIG={server.kubeconfig}"]
    assert lines[2] == "kubectl get namespaces"
    assert lines[3].endswith("http://127.0.0.1:8001/debug/api_priority_and_fairness/")
    assert len(lines) == 4


def test_a_merged_kubeconfig_says_what_became_of_the_old_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And another server of the same name does not start over it."""
    shared = tmp_path / "config"
    shared.write_text("current-context: work\n")
    monkeypatch.setenv("KUBECONFIG", str(shared))
    server = process.start(tmp_path / "one", tmp_path / "log", "--merge-kubeconfig")
    try:
        last = server.log.read_text().splitlines()[-1]
        merged = shared.read_text()
        with pytest.raises(process.NotStarted, match="kubetrio-default") as caught:
            process.start(tmp_path / "two", tmp_path / "log2", "--merge-kubeconfig")
    finally:
        server.kill()
    assert last == (
        f"context kubetrio-default is in {shared} and the current one now; "
        "before: kubectl config use-context work"
    )
    assert str(caught.value).count("\n") == 1
    assert shared.read_text() == merged
