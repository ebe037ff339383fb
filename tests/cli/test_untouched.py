"""Commands that read a data directory leave that of a stopped server as it is, file for file."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

import pytest
import trio

from kubetrio.api.request import Request, by_name
from kubetrio.cli import main
from kubetrio.cli.kept import open_kept
from kubetrio.config import Config, Local, Storage
from kubetrio.env import Env
from kubetrio.server import open_server

COMMANDS = {
    "history": ["cm/left"],
    "diff": ["cm/left", "--from", "1"],
    "export": ["cm"],
    "verify": [],
}
STATES = ("stopped", "killed", "killed-with-journal")


def state_of(directory: Path) -> dict[str, tuple[int, str]]:
    """Each file with its time of change and a digest of its contents."""
    return {
        str(path.relative_to(directory)): (
            path.stat().st_mtime_ns,
            sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


async def _left(folder: Path, state: str) -> Path:
    """The directory of a server, as it was left."""
    data, left = folder / "data", folder / "left"
    storage = Storage(journal_bytes=1 << 20) if state == STATES[2] else Storage()
    config = Config(data_dir=data, local=Local(secure_serving=False), storage=storage)
    async with open_server(config) as server:
        made = {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "left", "namespace": "default"}, "data": {"k": "v"},
        }  # fmt: skip
        await server.client().create(made)
        if state != STATES[0]:
            shutil.copytree(data, left)
    if state == STATES[0]:
        shutil.copytree(data, left, ignore=shutil.ignore_patterns("*-shm", "*-wal"))
    return left


@pytest.fixture(scope="module", params=STATES)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a server that has stopped, in order or not."""
    return trio.run(_left, tmp_path_factory.mktemp("server"), request.param)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(command: str, left: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It tells what is there, and neither changes nor makes a file."""
    before = state_of(left)
    assert main([command, *COMMANDS[command], "--data-dir", str(left)]) == 0
    assert capsys.readouterr().out
    assert state_of(left) == before


async def test_the_pages(left: Path) -> None:
    """``kubetrio ui`` reads without a trace, too."""
    before = state_of(left)
    path = "/api/v1/namespaces/default/configmaps/left"
    headers = [(b"host", b"x")]
    with trio.fail_after(60):
        async with open_kept(left, None, Env()) as handle:
            answer = await handle(Request("GET", path, "", by_name(headers), headers))
            assert b'"k":"v"' in getattr(answer, "body", b"")
            assert state_of(left) == before
    assert state_of(left) == before
