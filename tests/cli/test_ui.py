"""``kubetrio ui`` as a process: the link, its one use, and the end by a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from kubetrio.harness.script import Move, Request, Script
from kubetrio.testing.process import ServerProcess

pytestmark = pytest.mark.e2e
WAIT_S = 60


@contextmanager
def shown(*arguments: str) -> Iterator[tuple[int, str]]:
    """The command as it runs: its port, and the code of its link."""
    command = [sys.executable, "-m", "kubetrio", "ui", "--no-browser", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        try:
            address, _, code = link.partition("/ui/#once=")
            yield int(address.rpartition(":")[2]), code
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(WAIT_S) == 0


def ask(port: int, method: str, path: str, body: str = "", token: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with closing(HTTPConnection("127.0.0.1", port, timeout=WAIT_S)) as connection:
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_a_server_that_runs(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    """Requests go on as the administrator of the kubeconfig; the server's log has no token."""
    server = start_server(tmp_path / "data")
    with shown("--data-dir", str(tmp_path / "data")) as (port, code):
        assert ask(port, "GET", "/api")[0] == 401
        status, said = ask(port, "POST", "/ui/once", code)
        assert status == 200
        token = json.loads(said)["token"]
        assert json.loads(ask(port, "GET", "/ui/about", token=token)[1])["user"] == (
            "kubernetes-admin"
        )
        body = json.dumps({"metadata": {"name": "new"}})
        assert ask(port, "POST", "/api/v1/namespaces", body, token)[0] == 201
        assert ask(port, "POST", "/ui/once", code)[0] == 401
    log = server.log.read_text()
    assert token not in log
    assert code not in log


def test_a_server_that_was_stopped(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    """Its directory is enough; its audit log tells users too."""
    log = tmp_path / "audit.log"
    start_server(tmp_path / "data", "--audit-log-path", str(log)).stop()
    shows = ("--data-dir", str(tmp_path / "data"), "--audit-log-path", str(log))
    with shown(*shows) as (port, code):
        token = json.loads(ask(port, "POST", "/ui/once", code)[1])["token"]
        assert json.loads(ask(port, "GET", "/ui/about", token=token)[1])["users"] is True
        assert b"default" in ask(port, "GET", "/api/v1/namespaces", token=token)[1]
        body = json.dumps({"metadata": {"name": "new"}})
        assert ask(port, "POST", "/api/v1/namespaces", body, token)[0] == 403


def test_a_script(tmp_path: Path) -> None:
    """Its steps, and objects as they were, read-only; the replay is over when the link is there."""
    maps = "/api/v1/namespaces/default/configmaps"
    post = Request(method="POST", path=maps, body={"metadata": {"name": "made"}})
    Script(steps=(post, Move(seconds=60))).save(tmp_path / "s.json")
    with shown(str(tmp_path / "s.json")) as (port, code):
        token = json.loads(ask(port, "POST", "/ui/once", code)[1])["token"]
        steps = json.loads(ask(port, "GET", "/ui/steps", token=token)[1])
        assert [one["status"] for one in steps["items"]] == [201, 0]
        assert ask(port, "GET", f"{maps}/made", token=token)[0] == 200
        assert ask(port, "DELETE", f"{maps}/made", token=token)[0] == 403


def test_a_directory_without_a_server(tmp_path: Path) -> None:
    """One line says what to do."""
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", "ui", "--data-dir", str(tmp_path / "none")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "start a server (kubetrio serve)" in done.stderr
    assert len(done.stderr.splitlines()) == 1
