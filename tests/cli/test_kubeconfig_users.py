"""Kubeconfigs of others than the administrator."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubetrio import kubeconfig
from kubetrio.cli import main
from kubetrio.env import Env
from kubetrio.tls import pki


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that a server has had."""
    made = pki.ensure(tmp_path / "pki", now=Env().utcnow(), hosts=())
    ca, cert, key = (path.read_bytes() for path in (made.ca.cert, made.admin.cert, made.admin.key))
    kubeconfig.write(tmp_path / "kubeconfig", kubeconfig.build("dev", "https://h:1", ca, cert, key))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], data: Path, *arguments: str) -> dict[str, object]:
    """The kubeconfig that a command prints."""
    assert main(["kubeconfig", "--data-dir", str(data), *arguments]) == 0
    said = capsys.readouterr()
    found: dict[str, object] = yaml.safe_load(said.out)
    return {**found, "said": said.err}


def test_a_user_has_the_servers_cluster_and_a_certificate(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And an end, which is said."""
    admin = printed(capsys, data)
    found = printed(capsys, data, "--user", "alice", "--group", "devs", "--duration", "1h")
    assert found["clusters"] == admin["clusters"]
    assert found["contexts"] == [
        {"name": "kubetrio-dev", "context": {"cluster": "kubetrio-dev", "user": "alice"}}
    ]
    users = found["users"]
    assert isinstance(users, list)
    assert set(users[0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert str(found["said"]).startswith("kubetrio: valid until ")


def test_a_token_stands_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No certificate is beside it, which would count before it."""
    found = printed(capsys, data, "--token", "t0")
    assert found["users"] == [{"name": "token", "user": {"token": "t0"}}]
    assert found["said"] == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--group", "devs"), 2, "--group needs --user"),
        (("--user", "a", "--token", "t"), 2, "exclude each other"),
        (("--user", "a", "--merge"), 1, "write this one to a file"),
        (("--user", "a" * 65), 1, "64 characters"),
        (("--serviceaccount", "a/b/c"), 1, "is not NAMESPACE/SERVICEACCOUNT"),
    ],
)
def test_what_cannot_be_asked_for(
    arguments: tuple[str, ...],
    code: int,
    said: str,
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line."""
    try:
        ended = main(["kubeconfig", "--data-dir", str(data), *arguments])
    except SystemExit as error:
        ended = int(str(error.code))
    assert ended == code
    assert said in capsys.readouterr().err
