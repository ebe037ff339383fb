"""The stand-in for etcd: its flags and its answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubetrio.cli.envtest import etcd


def answered(path: str, method: str = "GET") -> tuple[str, str]:
    """Status line and body."""
    asked = etcd.Told(Path("/data"), (("localhost", 1),), fsync=False)
    head, _, body = etcd.answer(f"{method} {path} HTTP/1.1\r\n\r\n".encode(), asked).partition(
        b"\r\n\r\n"
    )
    assert b"Connection: close" in head
    return head.partition(b"\r\n")[0].decode(), body.decode()


def test_flags_are_read_as_go_reads_them() -> None:
    """One dash or two, a value beside or behind, switches without one; the last one counts."""
    read = etcd.flags_of(
        ["-data-dir", "a", "--data-dir=b", "--unsafe-no-fsync", "--name", "n", "--pre-vote", "-x"]
    )
    assert read == {
        "data-dir": "b", "unsafe-no-fsync": "true", "name": "n", "pre-vote": "true", "x": "true"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "directory"),
    [
        ({"data-dir": "/somewhere", "name": "one"}, "/somewhere"),
        ({"name": "one"}, "one.etcd"),
        ({}, "default.etcd"),
    ],
)
def test_the_data_directory_is_etcds(
    flags: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As given, or in the working directory under the member's name."""
    monkeypatch.chdir(tmp_path)
    assert etcd.told(flags).directory == tmp_path / directory


def test_all_client_addresses_are_listened_on() -> None:
    """With etcd's port where none is given."""
    told = etcd.told({"listen-client-urls": "http://127.0.0.1:7, http://[::1]"})
    assert told.addresses == (("127.0.0.1", 7), ("::1", 2379))
    assert etcd.told({}).addresses == (("localhost", 2379),)


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "unix:///x", "http://a:b", "nonsense"])
def test_other_addresses_are_mistakes(url: str) -> None:
    """In place of a probe that nobody answers."""
    with pytest.raises(etcd.Mistake, match="--listen-client-urls: "):
        etcd.told({"listen-client-urls": url})


def test_probes_are_answered_as_by_etcd() -> None:
    """Health in JSON, liveness and readiness in a word."""
    status, body = answered("/health?serializable=true")
    assert status == "HTTP/1.1 200 OK"
    assert json.loads(body)["health"] == "true"
    assert answered("/readyz") == answered("/livez") == ("HTTP/1.1 200 OK", "ok\n")
    assert answered("/health", "HEAD") == ("HTTP/1.1 200 OK", "")


def test_it_says_where_data_goes() -> None:
    """To who asks for that, and that it keeps none itself to who asks for anything else."""
    _, body = answered(etcd.WHERE)
    told = json.loads(body)
    assert (told["data-dir"], told["fsync"]) == ("/data", False)
    status, body = answered("/v3/kv/range", "POST")
    assert status == "HTTP/1.1 404 Not Found"
    assert "it keeps no keys" in body


def test_an_address_in_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 1."""
    with etcd.listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        flags = [f"--data-dir={tmp_path}", f"--listen-client-urls=http://127.0.0.1:{port}"]
        assert etcd.main(flags) == 1
    assert "Address already in use" in capsys.readouterr().err


def test_help_names_the_flags_that_envtest_looks_for(capsys: pytest.CaptureFixture[str]) -> None:
    """It looks for a line that begins with the flag."""
    assert etcd.main(["--help"]) == 0
    assert "\n  --unsafe-no-fsync" in capsys.readouterr().out
