"""Where clusters are, and which data directory is meant where no flag names one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from kubetrio import kubeconfig
from kubetrio.cli.place import (
    DEFAULT,
    PlaceError,
    cluster,
    clusters_directory,
    data_directory,
    existing,
    named,
)


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/a"}, "/state/kubetrio"),
        ({"XDG_STATE_HOME": "state", "HOME": "/home/a"}, "/home/a/.local/state/kubetrio"),
        ({"HOME": "/home/a"}, "/home/a/.local/state/kubetrio"),
        ({"USERPROFILE": "/users/a"}, "/users/a/.local/state/kubetrio"),
    ],
)
def test_the_state_directory(environ: dict[str, str], where: str) -> None:
    """As the XDG specification has it: a relative path is ignored."""
    assert clusters_directory(environ) == Path(where)


def test_no_home() -> None:
    """The next step is told."""
    with pytest.raises(PlaceError, match="XDG_STATE_HOME"):
        clusters_directory({})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "A", "-a", "a-", "a" * 64, "a b"])
def test_names_that_no_cluster_can_have(name: str) -> None:
    """A name is that of a directory, and a part of a context's."""
    with pytest.raises(ValueError, match="is no name of a cluster"):
        named(name, {"HOME": "/home/a"})


def made(environ: dict[str, str], name: str) -> Path:
    """Make a cluster; its data directory."""
    found = named(name, environ)
    found.data.mkdir(parents=True)
    found.flags.write_text("")
    return found.data


def test_clusters_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories with a file of flags, by name; others are none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert list(existing(environ)) == []
    made(environ, "b")
    made(environ, "a.1")
    (tmp_path / "kubetrio" / "other").mkdir()
    assert [each.name for each in existing(environ)] == ["a.1", "b"]
    assert cluster("b").context == "kubetrio-b"
    with pytest.raises(argparse.ArgumentTypeError, match="kubetrio create other"):
        cluster("other")


def test_the_data_directory_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the server which kubectl talks to, unless one is in the working directory."""
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "config"
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "KUBECONFIG": str(config)}
    assert data_directory(environ) == DEFAULT
    config.write_text(kubeconfig.dump(kubeconfig.build("dev", "https://h:1", b"", b"", b"")))
    assert data_directory(environ) == DEFAULT
    data = made(environ, "dev")
    assert data_directory(environ) == data
    config.write_text("current-context: dev\n")
    assert data_directory(environ) == DEFAULT
    beside = tmp_path / "srv"
    beside.mkdir()
    (beside / "kubetrio.lock").touch()
    assert data_directory({**environ, "KUBECONFIG": str(beside / "kubeconfig")}) == beside
    DEFAULT.mkdir()
    assert data_directory({**environ, "KUBECONFIG": str(beside / "kubeconfig")}) == DEFAULT


@pytest.mark.parametrize("text", ["", "[]", "{", "current-context: [1]", "\0"])
def test_a_kubeconfig_that_names_no_context(text: str, tmp_path: Path) -> None:
    """It is left to kubectl to say what is wrong with it."""
    config = tmp_path / "config"
    config.write_text(text)
    environ = {"XDG_STATE_HOME": str(tmp_path), "KUBECONFIG": str(config)}
    assert data_directory(environ) == DEFAULT
