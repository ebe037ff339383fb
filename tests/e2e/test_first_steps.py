"""What a new user does first: the examples of the documentation, as they are printed.

One test for each first ten minutes: kubectl, a program that embeds a server, a controller, a
device, an operator with its tests.  Those with envtest are in test_envtest.py, clusters by name in
test_clusters.py, programs on asyncio in tests/plugin/test_embedding_page.py, and the device's idle
day in tests/scenarios/test_quiet_flash.py.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pages
import pytest
import yaml
from kubectl_runner import KUBECTL, needs_kubectl

from kubetrio.testing import process

ROOT = Path(__file__).parent.parent.parent
EMBEDDING = {"README.md": "README.md", "embed.md": "docs/how-to/embed.md"}
READY_S = 30.0
SUITE_LIMIT_S = 60.0  # on a machine that does other things too; it takes four

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
    """The address first; a path that a shell can read; what to try; where the pages are."""
    server = process.start(tmp_path / "a b", tmp_path / "log")
    try:
        lines = server.log.read_text().splitlines()
    finally:
        server.kill()
    assert re.fullmatch(r"kubetrio \S+ is ready at https://127\.0\.0\.1:\d+", lines[0])
    assert shlex.split(lines[1]) == ["export", f"KUBECONFIG={server.kubeconfig}"]
    assert lines[2] == "kubectl get namespaces"
    assert lines[3].endswith("http://127.0.0.1:8001/ui/")
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


@needs_kubectl
def test_the_first_cluster(tmp_path: Path) -> None:
    """Start, the session as the page shows it, stop, start again: the reader's ten minutes."""
    page = "docs/tutorial/first-cluster.md"
    # The page's port may be taken.
    environment = pages.installed(tmp_path, kubetrio='-m kubetrio "$@" --secure-port 0; exit; :')
    prepare, clean_up = pages.blocks(page, "sh")
    serve = prepare.splitlines()[-1]
    session = pages.steps(page)
    again = next(i for i, step in enumerate(session) if step.command == serve)

    def run(steps: list[pages.Step], kubeconfig: str) -> None:
        for step in steps:
            if "--watch" in step.command:
                continue  # it does not end; tests/e2e/test_kubectl_get.py has it
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=tmp_path,
                env={**environment, "KUBECONFIG": kubeconfig},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=READY_S,
                check=False,
            )
            assert done.returncode == int("error: " in "".join(step.shown)), done.stdout
            assert not step.shown or step.matches(done.stdout), (step, done.stdout)

    for steps in (session[:again], session[again + 1 :]):
        server = subprocess.Popen(
            ["bash", "-c", f"exec {serve}"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert server.stdout is not None
            shown = pages.blocks(page, "text")[0].splitlines()
            said = [server.stdout.readline().rstrip() for _ in shown]
            assert [_same(line) for line in said] == [_same(line) for line in shown]
            run(steps, shlex.split(said[1])[1].partition("=")[2])
            server.send_signal(signal.SIGINT)
            assert server.wait(READY_S) == 0
        finally:
            server.kill()
            server.communicate()
    subprocess.run(["bash", "-c", clean_up], cwd=tmp_path, check=True)
    assert [one.name for one in tmp_path.iterdir() if one.name[0] != "."] == []


def _same(line: str) -> str:
    """A line of the first screen without what differs from place to place."""
    line = re.sub(r"kubetrio [\d.]+\S* is", "kubetrio VERSION is", line)
    line = re.sub(r"(?<=127\.0\.0\.1:)\d+$", "PORT", line)
    return re.sub(r"=.*(?=/kubetrio-data/)", "=HERE", line)


@needs_kubectl
def test_the_controller(tmp_path: Path) -> None:
    """Less than sixty lines, on public modules alone (tests/test_docs_commands.py)."""
    page = "docs/how-to/write-a-controller.md"
    environment = pages.installed(tmp_path)
    assert pages.save(page, tmp_path) == ["entries.py"]
    assert len((tmp_path / "entries.py").read_text().splitlines()) < 60
    program = pages.blocks(page, "sh")[0]
    session = "".join(f"{step.command}\n" for step in pages.steps(page))
    running = subprocess.Popen(
        ["bash", "-c", f"exec {program}"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("https://127.0.0.1:")
        done = subprocess.run(
            ["bash", "-ec", session],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            line for step in pages.steps(page) for line in step.shown
        ]
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=READY_S)
    finally:
        running.kill()
    assert (running.returncode, said) == (0, "")


def test_the_device(tmp_path: Path) -> None:
    """Twice, so that the second start finds what the first has stored; kubectl reads it."""
    page = "docs/tutorial/edge-program.md"
    environment = pages.installed(tmp_path)
    assert pages.save(page, tmp_path) == ["device.py"]
    assert len((tmp_path / "device.py").read_text().splitlines()) < 100
    start, read = pages.steps(page)
    for _ in range(2):
        device = subprocess.Popen(
            ["bash", "-c", f"exec {start.command}"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert device.stdout is not None
            assert device.stdout.readline() == f"{start.shown[0]}\n"
            if KUBECTL is not None:
                done = _until_two_rows(read.command, tmp_path, environment)
                assert [line.split()[0] for line in done[:3]] == [
                    line.split()[0] for line in read.shown
                ]
            device.send_signal(signal.SIGINT)
            said, wrong = device.communicate(timeout=READY_S)
        finally:
            device.kill()
        assert (device.returncode, wrong) == (0, "")
        assert said.splitlines()[-1] == start.shown[-1]


def _until_two_rows(command: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """What a kubectl prints when it has a head and two rows."""
    for _ in range(100):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        if done.stdout.count("\n") > 2:
            break
    return done.stdout.splitlines()


def test_the_tested_operator(tmp_path: Path, record_property: Callable[..., None]) -> None:
    """Its ten tests pass, and none is skipped; how long they took is printed."""
    for module in ("kopf", "kubernetes", "cel_expr_python"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    page = "docs/tutorial/test-an-operator.md"
    points = [point.name for point in metadata.entry_points(group="pytest11")]
    plugin = "" if "kubetrio" in points else " -p kubetrio.pytest_plugin"
    environment = pages.installed(
        tmp_path, pytest=f"-m pytest -p no:cacheprovider -p no:asyncio{plugin}"
    )
    assert pages.save(page, tmp_path) == ["crd.yaml", "website.py", "test_website.py"]
    (tmp_path / "pytest.ini").touch()  # the directory is the reader's project
    (step,) = pages.steps(page)
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SUITE_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    print(last)
    record_property("suite", last)
    shown = step.shown[-1]
    assert re.sub(r"[\d.]+s$", "", last) == re.sub(r"[\d.]+s$", "", shown)
