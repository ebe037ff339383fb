"""Flags of a cluster: what is kept of them, and that they come back as they were."""

from __future__ import annotations

import socket
from argparse import Namespace
from pathlib import Path

import pytest

from kubetrio.cli.clusters import settings
from kubetrio.cli.common import Failure
from kubetrio.cli.place import Cluster
from kubetrio.flags import parser as flags
from kubetrio.flags.file import read


def parsed(*arguments: str) -> Namespace:
    """Options of ``serve``."""
    parser = flags.Parser(prog="kubetrio create", allow_abbrev=False)
    flags.add_serve(parser)
    return parser.parse_args(arguments)


def test_what_was_given_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With paths that hold in each working directory; what is about one call is not kept."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.yaml").write_text("v: 2\nsecure-port: 1\n")
    given = settings.given(
        parsed(
            "--config=more.yaml", "--secure-port=7443", "--profile=edge", "--tls-san=a",
            "--tls-san=b", "--audit-policy-file=audit.yaml",
            "--feature-gates=APIServerTracing=true",
            "--wait=5s", "--detach", "--merge-kubeconfig",
        )
    )  # fmt: skip
    assert "wait" not in given
    file = tmp_path / "flags.yaml"
    file.write_text(settings.text_of(given))
    found = read(file, flags.BY_NAME).given
    assert found == {
        "terminal.verbosity": 2,
        "serving.secure_port": 7443,
        "terminal.profile": "edge",
        "serving.extra_hosts": ["a", "b"],
        "audit.policy_file": tmp_path / "audit.yaml",
        "feature_gates": {"APIServerTracing": True},
    }


@pytest.mark.parametrize("flag", ["--data-dir=d", "--name=x", "--write-kubeconfig=k"])
def test_what_the_name_decides_is_refused(flag: str) -> None:
    """Rather than kept and never used."""
    with pytest.raises(Failure, match="the name of a cluster"):
        settings.given(parsed(flag))


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """With its line."""
    (tmp_path / "c").write_text("a: b: c")
    with pytest.raises(Failure, match="c:1: no YAML"):
        settings.given(parsed(f"--config={tmp_path / 'c'}"))


def test_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that somebody listens on, nor one of a cluster that is stopped."""
    one = Cluster("one", tmp_path)
    assert settings.port_of(one) == 0
    with socket.create_server(("127.0.0.1", 0)) as listening:
        first = listening.getsockname()[1]
        monkeypatch.setattr(settings, "FIRST_PORT", first)
        monkeypatch.setattr(settings, "LAST_PORT", first)
        with pytest.raises(Failure, match="--secure-port"):
            settings.free_port([])
    assert settings.free_port([]) == first
    one.flags.write_text(f"secure-port: {first}\n")
    assert settings.port_of(one) == first
    with pytest.raises(Failure, match="are taken"):
        settings.free_port([one])
