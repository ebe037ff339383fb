"""The table of clusters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.clusters.listing import HEAD, table
from kubetrio.cli.place import named


def test_clusters_that_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has a row, also before its first start; without any the next step is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["list"]) == 0
    assert "kubetrio create" in capsys.readouterr().out
    dev = named("dev", {"XDG_STATE_HOME": str(tmp_path)})
    dev.directory.mkdir(parents=True)
    dev.flags.write_text("")
    assert main(["list"]) == 0
    assert capsys.readouterr().out.split() == [
        *HEAD, "dev", "Stopped", "-", "kubetrio-dev", str(dev.data),
    ]  # fmt: skip
    assert main(["list", "-o", "name"]) == 0
    assert capsys.readouterr().out == "dev\n"
    assert main(["list", "-o", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["name"], found["state"], found["pid"]) == ("dev", "Stopped", None)


def test_columns() -> None:
    """As wide as their widest cell, without blanks at the end."""
    assert table([("A", "B"), ("long", "b")]) == "A      B\nlong   b"
