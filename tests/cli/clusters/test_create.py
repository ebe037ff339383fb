"""What ``kubetrio create`` refuses, and that nothing is left of it then."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.place import named


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_name_is_taken_once(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The two ways on are told, and the cluster stays as it is."""
    dev = named("dev", {"XDG_STATE_HOME": str(state)})
    dev.directory.mkdir(parents=True)
    dev.flags.write_text("v: 1\n")
    assert main(["create", "dev", "--secure-port", "1"]) == 1
    said = capsys.readouterr().err
    assert "kubetrio start dev" in said
    assert "kubetrio delete dev" in said
    assert dev.flags.read_text() == "v: 1\n"


def test_a_name_that_cannot_be(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a mistake on the command line."""
    with pytest.raises(SystemExit, match="2"):
        main(["create", "../dev"])
    assert "'../dev' is no name of a cluster" in capsys.readouterr().err
    assert list(state.iterdir()) == []


def test_flags_that_cannot_be_together(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are told as by serve, and nothing is left behind."""
    assert main(["create", "dev", "--secure-serving=false", "--data-dir", "x"]) == 1
    assert "--data-dir is not taken" in capsys.readouterr().err
    assert main(["create", "dev", "--shutdown-delay-duration", "1s", "--tls-cert-file", "c"]) == 1
    assert "--tls-private-key-file" in capsys.readouterr().err
    assert [each.name for each in state.rglob("*")] == ["kubetrio"]


def test_the_help_shows_few_flags_and_takes_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that matter first; the others are a reference of their own."""
    with pytest.raises(SystemExit, match="0"):
        main(["create", "--help"])
    shown = capsys.readouterr().out
    assert "--secure-port" in shown
    assert "--oidc-issuer-url" not in shown
    assert shown.count("\n") < 60
