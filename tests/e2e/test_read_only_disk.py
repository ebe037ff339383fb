"""A file system that the kernel makes read-only under a running server, as for a worn flash."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubetrio.testing.process import NotStarted, ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="mounts a file"),
]
FAILS = "Read-only file system|disk I/O error|Input/output error"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def run(*command: str) -> str:
    """Output of a command; the test is skipped where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"there is no {error.filename}")
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


@dataclass
class Disk:
    """A file system in a file, which goes read-only when an error is met."""

    image: Path
    path: Path

    def mount(self) -> None:
        """As a device has it after a start."""
        run("mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.path))

    def unmount(self) -> None:
        """Take it away."""
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

    def meets_an_error(self) -> None:
        """Have the kernel find one."""
        device = run("findmnt", "--noheadings", "--output", "SOURCE", str(self.path)).strip()
        trigger = Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error"
        if not trigger.exists():
            pytest.skip(f"there is no {trigger}")
        trigger.write_text("1")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """An ext4 of 64 MB."""
    disk = Disk(tmp_path / "image", tmp_path / "disk")
    disk.path.mkdir()
    with disk.image.open("wb") as file:
        file.truncate(64 << 20)
    run("mkfs.ext4", "-q", str(disk.image))
    disk.mount()
    yield disk
    disk.unmount()


def ask(server: ServerProcess, method: str, path: str, body: object = None) -> tuple[int, str]:
    """Status and body of an answer."""
    with closing(server.connect()) as sock:
        connection = http.client.HTTPConnection("127.0.0.1")
        connection.sock = sock
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.parametrize("flags", [(), ("--profile=edge",)], ids=["default", "edge"])
def test_a_disk_that_becomes_read_only(
    start_server: Start, disk: Disk, flags: tuple[str, ...]
) -> None:
    """Reads go on, writes say why not, a start too; what was answered is there later.

    Where it fails between a write and its sync, nobody knows what it has, and the server ends.
    """
    data = disk.path / "data"
    server = start_server(data, *flags)
    assert ask(server, "POST", CONFIGMAPS, {"metadata": {"name": "before"}})[0] == 201
    disk.meets_an_error()
    kept = {"before"}
    try:
        assert ask(server, "GET", f"{CONFIGMAPS}/before")[0] == 200
        status, said = ask(server, "POST", CONFIGMAPS, {"metadata": {"name": "after"}})
        if status == 500:
            assert re.search(FAILS, json.loads(said)["message"])
        else:
            kept.add("after")
        server.stop()
    except (OSError, http.client.HTTPException):
        assert server.process.wait(timeout=20) == 1
        assert re.search(f"the disk failed to sync.*{FAILS}", server.log.read_text())
    with pytest.raises(NotStarted, match="Read-only file system"):
        start_server(data, *flags)
    disk.unmount()
    subprocess.run(["e2fsck", "-fy", str(disk.image)], capture_output=True, check=False)
    disk.mount()
    server = start_server(data, *flags)
    items = json.loads(ask(server, "GET", CONFIGMAPS)[1])["items"]
    assert {item["metadata"]["name"] for item in items} - {"kube-root-ca.crt"} == kept
    assert ask(server, "POST", CONFIGMAPS, {"metadata": {"name": "again"}})[0] == 201
    assert server.stop() == 0
