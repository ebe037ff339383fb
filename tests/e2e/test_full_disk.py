"""A real file system that is really full, with somebody who takes each byte that gets free."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubetrio.store.sqlite.reserve import FILE_NAME
from kubetrio.store.sqlite.space import OPENS_WITH_BYTES
from kubetrio.testing.process import ServerProcess, arguments

Start = Callable[..., ServerProcess]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs"),
]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
NO_ROOM = "etcdserver: mvcc: database space exceeded"
KEPT, DELETED = 60, 40
# So that some of it meets a compaction and a checkpoint.
UPKEEP = ("--etcd-compaction-interval", "200ms", "--history-window", "300ms")


class Disk:
    """A small file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Take all the room there is."""
        with self._filler.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def clear(self) -> None:
        """Give it back."""
        self._filler.unlink()


@pytest.fixture
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A small tmpfs; skipped where mounting is not permitted."""
    path = tmp_path / "disk"
    path.mkdir()
    mounting = [
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={getattr(request, 'param', '8m')}",
        "tmpfs",
        str(path),
    ]
    made = subprocess.run(mounting, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"cannot mount a tmpfs: {made.stderr.strip()}")
    yield Disk(path)
    subprocess.run(["umount", "--lazy", str(path)], check=True)


class Client:
    """An administrator."""

    def __init__(self, server: ServerProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1")
        self._connection.sock = server.connect()

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body of an answer."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """Leave."""
        self._connection.close()

    def create(self, name: str, size: int = 3000) -> int:
        """Create a ConfigMap; returns the status."""
        body = {"metadata": {"name": name}, "data": {"a": "x" * size}}
        status, said = self.ask("POST", CONFIGMAPS, body)
        if status == 500:
            found = json.loads(said)
            assert (found["message"], found.get("reason")) == (NO_ROOM, None)
        return status

    def names(self) -> set[str]:
        """ConfigMaps that are there."""
        items = json.loads(self.ask("GET", CONFIGMAPS)[1])["items"]
        return {item["metadata"]["name"] for item in items} - {"kube-root-ca.crt"}


@pytest.mark.parametrize(
    ("disk", "more"),
    [pytest.param("24m", ("--journal-size=1Mi",), marks=pytest.mark.slow), ("8m", ())],
    ids=["larger, with a journal", "small"],
    indirect=["disk"],
)
def test_a_full_disk_from_beginning_to_end(
    start_server: Start, disk: Disk, more: tuple[str, ...]
) -> None:
    """Deletions go, creations do not, it stops with 0, starts, survives a kill, and recovers."""
    data = disk.path / "data"

    def start() -> ServerProcess:
        return start_server(data, *UPKEEP, *more)

    server = start()
    client = Client(server)
    answered = {f"c{number}" for number in range(KEPT + 3 * DELETED)}
    for name in sorted(answered):
        assert client.create(name) == 201
    finalized = {"metadata": {"name": "finalized", "finalizers": ["example.com/f"]}}
    assert client.ask("POST", CONFIGMAPS, finalized)[0] == 201
    disk.fill()
    number = 0
    while client.create(f"more{number}") == 201:
        answered.add(f"more{number}")
        number += 1
    assert client.ask("GET", "/readyz/storage-space")[0] == 500
    assert client.ask("GET", "/readyz?exclude=storage-space")[0] == 200
    assert client.ask("GET", "/livez")[0] == 200
    assert b"\nkubetrio_storage_full 1" in client.ask("GET", "/metrics")[1]

    def delete(count: int) -> None:
        for _ in range(count):
            disk.fill()
            assert client.ask("DELETE", f"{CONFIGMAPS}/{(name := answered.pop())}")[0] == 200, name

    delete(DELETED)
    assert client.ask("DELETE", f"{CONFIGMAPS}/finalized")[0] == 200  # it is marked
    marked = json.loads(client.ask("GET", f"{CONFIGMAPS}/finalized")[1])
    larger = {**marked, "data": {"b": "x" * 1000}}
    assert client.ask("PUT", f"{CONFIGMAPS}/finalized", larger)[0] == 500
    del marked["metadata"]["finalizers"]
    assert client.ask("PUT", f"{CONFIGMAPS}/finalized", marked)[0] == 200
    assert client.names() == answered
    client.close()
    assert server.stop() == 0

    disk.fill()
    server = start()
    assert server.log.read_text().count("The disk is full") == 1
    client = Client(server)
    assert client.names() == answered
    assert client.create("refused") == 500
    delete(DELETED)
    client.close()
    server.kill()
    assert (data / FILE_NAME).stat().st_size >= OPENS_WITH_BYTES  # for the next start

    disk.fill()
    server = start()
    client = Client(server)
    assert client.names() == answered
    delete(DELETED)
    assert client.names() == answered
    disk.clear()
    while client.ask("GET", "/readyz")[0] != 200:
        os.sched_yield()
    assert client.create("late") == 201
    client.close()
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("size", "more"),
    [pytest.param(30_000, (), marks=pytest.mark.slow), (500_000, ()), (500_000, UPKEEP)],
    ids=["small", "large", "large, log emptied"],
)
def test_all_of_a_small_full_disk_can_be_deleted(
    start_server: Start, disk: Disk, size: int, more: tuple[str, ...]
) -> None:
    """Whoever filled it, though somebody takes each byte that gets free."""
    server = start_server(disk.path / "data", *more)
    client = Client(server)
    number = 0
    while number * size < 2_500_000:  # beside the reserve, and what is taken while it is written
        assert client.create(f"c{number}", size) == 201
        number += 1
    if more:  # what is written last is at rest soon
        log = disk.path / "data" / "kubetrio.db-wal"
        while log.stat().st_size:
            os.sched_yield()
    else:
        while client.create(f"c{number}", size) == 201:
            number += 1
    disk.fill()
    client.create("more", size)
    for name in sorted(client.names()):
        disk.fill()
        assert client.ask("DELETE", f"{CONFIGMAPS}/{name}")[0] == 200, name
    assert client.names() == set()
    disk.clear()
    while client.ask("GET", "/readyz")[0] != 200:
        os.sched_yield()
    assert client.create("late") == 201
    client.close()
    assert server.stop() == 0


def test_an_output_on_a_full_disk_does_not_stop_it(disk: Disk, tmp_path: Path) -> None:
    """Lines are lost, and the exit code is that of an orderly stop."""
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(
            arguments(tmp_path / "data"), stdout=full, stderr=full, stdin=subprocess.DEVNULL
        )
        while not (tmp_path / "data" / "kubeconfig").exists():
            assert process.poll() is None
        process.terminate()
        assert process.wait(timeout=20) == 0
