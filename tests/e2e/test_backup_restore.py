"""Backups of a server that is written to, what is restored of them, and damage that is found."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
FIRST = 60  # written before the backup begins


def kubetrio(*arguments: object, code: int = 0) -> tuple[str, str]:
    """Run a command; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def ask(sock: ssl.SSLSocket, line: str, body: object = None) -> dict[str, object]:
    """One request on a connection that stays; the answer's JSON."""
    connection = http.client.HTTPConnection("h")
    connection.sock = sock
    method, _, path = line.partition(" ")
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json"})
    found: dict[str, object] = json.loads(connection.getresponse().read())
    return found


def one(number: int) -> dict[str, object]:
    return {"metadata": {"name": f"m{number}"}, "data": {"n": str(number), "pad": "x" * 2000}}


@pytest.mark.slow
def test_a_backup_under_writes_is_one_moment(start_server: Start, tmp_path: Path) -> None:
    """It has all that was answered before, of the rest a beginning; watchers list anew."""
    data, file, again = tmp_path / "data", tmp_path / "b.tar", tmp_path / "again"
    server = start_server(data)
    with server.connect() as sock:
        for number in range(FIRST):
            ask(sock, f"POST {MAPS}", one(number))
        command = [sys.executable, "-m", "kubetrio", "backup", str(file), "--data-dir", str(data)]
        number = FIRST
        with subprocess.Popen(command, stdout=subprocess.PIPE) as backup:
            while backup.poll() is None:
                last = ask(sock, f"POST {MAPS}", one(number))
                number += 1
        assert backup.returncode == 0
        assert number > FIRST
        # A revision that only the lost future of the backup had.
        later = str(last["metadata"]["resourceVersion"])  # type: ignore[index]
    assert file.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob(".*partial"))
    assert "exists" in kubetrio("backup", file, "--data-dir", data, code=1)[1]
    assert "no faults" in kubetrio("verify", "--data-dir", data)[0]
    assert "in use" in kubetrio("restore", file, "--data-dir", data, "--force", code=1)[1]
    assert "in use" in kubetrio("compact", "--data-dir", data, code=1)[1]
    server.stop()
    kubetrio("restore", file, "--data-dir", again)
    assert "no faults" in kubetrio("verify", "--data-dir", again)[0]
    restored = start_server(again)
    with restored.connect() as sock:
        answer = ask(sock, f"GET {MAPS}")
        items = answer["items"]
        assert isinstance(items, list)
        numbers = {
            int(item["data"]["n"]) for item in items if item["metadata"]["name"].startswith("m")
        }
        assert numbers == set(range(len(numbers)))  # no holes
        assert FIRST <= len(numbers) <= number
        version = int(answer["metadata"]["resourceVersion"])  # type: ignore[index]
        assert version > 1_000_000_000
        gone = ask(sock, f"GET {MAPS}?watch=1&resourceVersion={later}&timeoutSeconds=1")
        status = gone.get("object", gone)
        assert isinstance(status, dict)
        assert status["code"] == 410
        made = ask(sock, f"POST {MAPS}", one(10_000))
        assert int(made["metadata"]["resourceVersion"]) > version  # type: ignore[index]
    # The same authority: what was given out is still good.
    assert (again / "pki" / "sa.key").read_bytes() == (data / "pki" / "sa.key").read_bytes()


def test_damage_and_places_that_are_taken(start_server: Start, tmp_path: Path) -> None:
    """A line and exit code 1; nothing is touched."""
    data, file = tmp_path / "data", tmp_path / "b.tar"
    start_server(data).stop()
    kubetrio("backup", file, "--data-dir", data)
    assert "not empty" in kubetrio("restore", file, "--data-dir", data, code=1)[1]
    content = file.read_bytes()
    broken = tmp_path / "broken.tar"
    broken.write_bytes(content[:-60_000] + b"\xa5" * 4096 + content[-55_904:])
    nowhere = tmp_path / "nowhere"
    assert "damaged" in kubetrio("restore", broken, "--data-dir", nowhere, code=1)[1]
    assert not nowhere.exists()
    broken.write_bytes(content[:5000])
    assert "damaged" in kubetrio("restore", broken, "--data-dir", nowhere, code=1)[1]
    assert not nowhere.exists()
    assert not list(tmp_path.glob(".*partial"))
    kubetrio("restore", file, "--data-dir", data, "--force")
    assert len(list(tmp_path.glob("data.before-restore-*"))) == 1
    database = data / "kubetrio.db"
    whole = database.read_bytes()
    database.write_bytes(whole[: 20 * 4096] + b"\xa5" * 8192 + whole[22 * 4096 :])
    out, err = kubetrio("verify", "--data-dir", data, code=1)
    assert out.startswith("kubetrio.db: ")
    assert "restore a backup" in err


@pytest.mark.slow
def test_history_differences_and_tokens(start_server: Start, tmp_path: Path) -> None:
    """Beside a running server; and after it, the kubeconfig."""
    data = tmp_path / "data"
    server = start_server(data, "--name=there")
    with server.connect() as sock:
        made = ask(sock, f"POST {MAPS}", {"metadata": {"name": "a"}, "data": {"k": "old"}})
        changed = {"metadata": {"name": "a"}, "data": {"k": "new"}}
        ask(sock, f"PUT {MAPS}/a", changed)
        since = str(made["metadata"]["resourceVersion"])  # type: ignore[index]
        here = ("--data-dir", data)
        diff = kubetrio("diff", "configmap", "a", *here)[0]
        assert "-  k: old\n+  k: new\n" in diff
        again = kubetrio("diff", "cm", "a", "--from", since, *here)[0]
        # The first line says a revision, between which others may have written.
        assert again.splitlines()[1:] == diff.splitlines()[1:]
        assert "~ configmap/a -n default\n" in kubetrio("diff", "--from", since, *here)[0]
        ask(sock, f"DELETE {MAPS}/a")
        assert "- configmap/a -n default\n" in kubetrio("diff", "--from", since, *here)[0]
        lines = kubetrio("history", "ConfigMap", "a", *here)[0].splitlines()
        assert [line.split()[2] for line in lines] == ["VERB", "create", "update", "delete"]
        assert lines[1].split()[0] == since
        managers = [line.split()[3] for line in lines[1:]]
        assert managers[0] == managers[1] != managers[2] == "-"
    assert "is not known" in kubetrio("diff", "--from", 10**6, *here, code=1)[1]
    assert "no kind" in kubetrio("history", "nothing", "a", *here, code=1)[1]
    token = kubetrio("token", "create", "default/default", "--duration", "10m", *here)[0]
    assert token.count(".") == 2
    assert "create serviceaccount" in kubetrio("token", "create", "x", *here, code=1)[1]
    running = kubetrio("kubeconfig", *here)[0]
    server.stop()
    assert kubetrio("kubeconfig", *here)[0] == running == (data / "kubeconfig").read_text()
    assert "connection refused" in kubetrio("token", "create", "default", *here, code=1)[1]
    out = kubetrio("compact", *here)[0]
    assert "revisions dropped" in out
    assert "nothing is known" in kubetrio("history", "cm", "a", *here, code=1)[1]
    assert "no faults" in kubetrio("verify", *here)[0]
