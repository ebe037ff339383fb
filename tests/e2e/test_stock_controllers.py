"""The page about stock controllers, as it is written: programs of Kubernetes beside the server."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
from kubectl_runner import needs_kubectl

PAGE = "docs/how-to/stock-controllers.md"
PROGRAMS = ("kube-controller-manager", "kube-scheduler")
LIMIT_S = 120.0
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not all(map(shutil.which, PROGRAMS)), reason=f"{' and '.join(PROGRAMS)} are not on PATH"
    ),
]


@contextlib.contextmanager
def beside(command: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a program of Kubernetes for as long as the block lasts."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=folder, env=environment, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


@needs_kubectl
def test_stock_programs_run_a_deployment(tmp_path: Path) -> None:
    """With the rights of their default roles; the ports that they serve on may be taken."""
    environment = pages.installed(tmp_path, kubetrio="-m kubetrio")
    bin_ = tmp_path / ".venv" / "bin"
    for program in PROGRAMS:
        script = bin_ / program
        script.write_text(f'#!/bin/sh\nexec {shutil.which(program)} --secure-port=0 "$@"\n')
        script.chmod(0o755)
    environment |= {"PATH": f"{bin_}:{environment['PATH']}", "XDG_STATE_HOME": ""}

    def run(text: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", text],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()[-4000:]
        return done.stdout

    (tmp_path / "log").touch()
    begin, manager, scheduler, end = pages.blocks(PAGE, "sh")
    try:
        run(begin)
        with beside(manager, tmp_path, environment), beside(scheduler, tmp_path, environment):
            for step in pages.steps(PAGE):
                assert run(step.command).splitlines() == list(step.shown)
            owners = run("kubectl get leases -n kube-system -o name")
            assert {f"lease.coordination.k8s.io/{one}" for one in PROGRAMS} <= {*owners.split()}
    finally:
        run(end)
