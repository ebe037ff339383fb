"""What ``kubetrio delete`` removes, of a cluster that does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio import kubeconfig
from kubetrio.cli import main
from kubetrio.cli.place import named


def test_its_context_goes_and_that_of_another_server_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the authority in the entry."""
    config = tmp_path / "config"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(config))
    for authority, stays in ((b"another", True), (b"ca", False)):
        config.unlink(missing_ok=True)
        kubeconfig.merge(config, kubeconfig.build("dev", "https://h:1", authority, b"", b""))
        dev = named("dev", {"XDG_STATE_HOME": str(tmp_path / "state")})
        (dev.data / "pki").mkdir(parents=True)
        (dev.data / "pki" / "ca.crt").write_bytes(b"ca")
        dev.flags.write_text("")
        assert main(["delete", "dev"]) == 0
        assert capsys.readouterr().out.endswith("deleted: cluster dev\n")
        assert not dev.directory.exists()
        assert ("kubetrio-dev" in config.read_text()) is stays
