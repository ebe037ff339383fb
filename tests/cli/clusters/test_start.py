"""What ``kubetrio start`` does where nothing is to be started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.place import named
from kubetrio.store.lock import DirectoryLock


def test_no_such_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that makes it is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        main(["start", "dev"])
    assert "kubetrio create dev makes it" in capsys.readouterr().err


def test_one_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said which process has it, and the command ends well."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    dev = named("dev", {"XDG_STATE_HOME": str(tmp_path)})
    dev.data.mkdir(parents=True)
    dev.flags.write_text("")
    lock = DirectoryLock(dev.data)
    try:
        assert main(["start", "dev"]) == 0
    finally:
        lock.release()
    pid = os.getpid()
    assert capsys.readouterr().out == f"cluster dev runs already: process {pid}\n"


def test_flags_that_were_broken_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of the file is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    dev = named("dev", {"XDG_STATE_HOME": str(tmp_path)})
    dev.directory.mkdir(parents=True)
    dev.flags.write_text("v: 1\nsecure-prot: 1\n")
    assert main(["start", "dev"]) == 1
    assert f"{dev.flags}:2: secure-prot: unknown flag" in capsys.readouterr().err
