"""Checksums of two builds are compared by name; what cannot be built is known before."""

import platform
import sys
from pathlib import Path

import pytest

from release import build, image
from release.build import DEBIAN, IMAGE, SINGLE_FILE, SUMS, differing, lacking, sums


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Files that only one side has too; the list of checksums is in none."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, text in ((one, "a"), (other, "b")):
        folder.mkdir()
        (folder / "same").write_text("same")
        (folder / "changed").write_text(text)
        (folder / SUMS).write_text(text)
    (other / "more").touch()
    assert list(sums(one)) == ["changed", "same"]
    assert differing(sums(one), sums(other)) == ["changed", "more"]
    assert differing(sums(one), sums(one)) == []


def program(folder: Path, name: str, text: str = "") -> str:
    """A program that prints something."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is lacking, with programs in a folder."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(platform, "machine", lambda: next(iter(image.LOADERS)))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("cc", "dpkg", "dpkg-deb"):
        program(tmp_path, name)
    program(tmp_path, "python", "1")
    return tmp_path


def test_nothing_is_left_out_where_all_is_there(linux: Path) -> None:
    """A compiler, a Python with a shared library, and Debian's tools."""
    assert lacking(str(linux / "python"), built=False) == {}


@pytest.mark.parametrize(("gone", "reason"), [
    ("cc", "there is no C compiler cc"),
    ("python", "was built without a shared library"),
])  # fmt: skip
def test_without_a_single_file_its_packages_are_left_out(
    linux: Path, gone: str, reason: str
) -> None:
    """Where one is built already, it takes neither a compiler nor such a Python."""
    (linux / gone).unlink()
    parts = lacking(str(linux / "python"), built=False)
    assert list(parts) == [SINGLE_FILE, IMAGE, DEBIAN]
    assert parts[SINGLE_FILE].endswith(reason)
    assert lacking(str(linux / "python"), built=True) == {}


def test_what_one_package_lacks_leaves_the_others(
    linux: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's tools, and glibc for the image."""
    (linux / "dpkg-deb").unlink()
    assert lacking(str(linux / "python"), built=True) == {DEBIAN: "there is no dpkg-deb"}
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert list(lacking(str(linux / "python"), built=True)) == [IMAGE, DEBIAN]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert lacking(str(linux / "python"), built=True)[SINGLE_FILE] == "it needs Linux"


def test_a_single_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is built."""
    with pytest.raises(SystemExit):
        build.main(["--single-file", str(tmp_path / "none"), str(tmp_path / "out")])
    assert f"{tmp_path}/none is not there" in capsys.readouterr().err
