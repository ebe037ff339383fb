"""Where a kube-apiserver of tests is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.testing.kubeapiserver import MISSING, VARIABLE, NotStarted, binary, kube_apiserver


def test_the_variable_counts_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a file."""
    monkeypatch.setenv(VARIABLE, "/somewhere/kube-apiserver")
    assert binary() == "/somewhere/kube-apiserver"


def test_without_a_binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error says how to name one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binary() is None
    with (
        pytest.raises(NotStarted, match=MISSING),
        kube_apiserver(tmp_path / "kube", "http://127.0.0.1:1"),
    ):
        raise AssertionError("nothing starts")


def test_what_ends_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The text is what it printed."""
    program = tmp_path / "kube-apiserver"
    program.write_text("#!/bin/sh\necho unknown flag\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setenv(VARIABLE, str(program))
    with (
        pytest.raises(NotStarted, match="unknown flag"),
        kube_apiserver(tmp_path / "kube", "http://127.0.0.1:1"),
    ):
        raise AssertionError("nothing starts")
