"""A process that runs out of file descriptors: at its start, at work, in upkeep and at its end."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kubetrio.testing.faults import no_descriptors
from kubetrio.testing.process import ServerProcess, arguments

Start = Callable[..., ServerProcess]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process"),
]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
UPKEEP = ("--etcd-compaction-interval", "200ms", "--history-window", "300ms")
# Not read before: what its answer is made of is in files of its own.
UNREAD = "/apis/storage.k8s.io/v1/storageclasses?fieldSelector=metadata.name%3Da"
ENOUGH = 256  # files with which a server runs


class Client:
    """An administrator who writes, and who watches what is written."""

    def __init__(self, server: ServerProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1")
        self._connection.sock = server.connect()
        self._watch: ssl.SSLSocket = server.connect()
        self._seen = b""
        version = json.loads(self.ask("GET", CONFIGMAPS)[1])["metadata"]["resourceVersion"]
        path = f"{CONFIGMAPS}?watch=1&resourceVersion={version}"
        self._watch.sendall(f"GET {path} HTTP/1.0\r\nHost: h\r\n\r\n".encode())
        self.answered: dict[str, str] = {}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body of an answer."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def write(self, number: int) -> None:
        """Write once; it must be taken."""
        name = f"c{number}"
        body = {"metadata": {"name": name}, "data": {"a": "x" * 2000}}
        status, said = self.ask("POST", CONFIGMAPS, body)
        assert status == 201, said
        self.answered[name] = json.loads(said)["metadata"]["resourceVersion"]

    def compacted(self) -> int:
        """Newest revision that was compacted."""
        page = self.ask("GET", "/metrics")[1].decode()
        return int(float(page.partition("\nkubetrio_storage_compacted_revision ")[2].split()[0]))

    def watched(self) -> list[str]:
        """Versions that the watch told, as many as were answered."""
        while len(found := self._told()) < len(self.answered):
            part = self._watch.recv(65536)
            assert part, "the watch ended"
            self._seen += part
        return found

    def _told(self) -> list[str]:
        """Versions that whole lines tell, but for what a controller makes."""
        whole = self._seen.partition(b"\r\n\r\n")[2].rpartition(b"\n")[0]
        told = [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]
        ours = [event["object"]["metadata"] for event in told]
        return [one["resourceVersion"] for one in ours if one["name"] != "kube-root-ca.crt"]

    def reconnect(self, server: ServerProcess) -> None:
        """Go on writing on a new connection."""
        self._connection.close()
        self._connection = http.client.HTTPConnection("127.0.0.1")
        self._connection.sock = server.connect()

    def close(self) -> None:
        """Leave."""
        self._connection.close()
        self._watch.close()


def names(server: ServerProcess) -> set[str]:
    """ConfigMaps that are there, asked for on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1")
    with closing(connection):
        connection.sock = server.connect()
        connection.request("GET", CONFIGMAPS)
        items = json.loads(connection.getresponse().read())["items"]
        return {item["metadata"]["name"] for item in items} - {"kube-root-ca.crt"}


def test_a_server_without_descriptors_goes_on_and_ends_in_order(
    start_server: Start, tmp_path: Path
) -> None:
    """Writes and watches go on through compactions and checkpoints; the newest comer is served.

    What needs a file that is not open fails until there are descriptors again, and no longer.
    """
    server = start_server(tmp_path / "data", *UPKEEP)
    client = Client(server)
    with closing(client):
        client.write(0)
        client.compacted()  # from now on there are metrics: their library is files, too
        with no_descriptors(server.process.pid):
            number = rounds = 0
            while rounds < 3:
                before = client.compacted()
                while client.compacted() == before:
                    number += 1
                    client.write(number)
                rounds += 1
            assert client.ask("GET", UNREAD)[0] == 500
            assert client.watched() == list(client.answered.values())
            assert names(server) == set(client.answered)  # for which the idle one is closed
        assert server.process.poll() is None
        client.reconnect(server)
        assert client.ask("GET", UNREAD)[0] == 200
        client.write(number + 1)
        assert client.watched() == list(client.answered.values())
        with no_descriptors(server.process.pid):
            client.write(number + 2)
            assert server.stop() == 0
    assert "Traceback" not in server.log.read_text().partition('"stopping"')[2]
    again = start_server(tmp_path / "data")
    assert names(again) == set(client.answered)
    assert again.stop() == 0


@pytest.mark.slow
def test_a_start_without_descriptors_ends_with_a_line(tmp_path: Path, start_server: Start) -> None:
    """Wherever it runs out of them; and the next start finds all in order."""
    ended = 0
    for limit in range(7, ENOUGH, 5):
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *arguments(tmp_path / "data")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        with process, process.stdout:
            last = ""
            for last in process.stdout:  # behind what is only logged
                if " is ready at " in last:
                    break
            if " is ready at " in last:
                process.terminate()
                break
            assert last.startswith("kubetrio: ")
            assert "Too many open files" in last
        assert process.returncode == 1
        ended += 1
    assert process.returncode == 0
    assert ended > 3
    assert start_server(tmp_path / "data").stop() == 0
