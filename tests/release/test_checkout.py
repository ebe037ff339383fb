"""A clean tree has what a commit has."""

import shutil
import subprocess
from pathlib import Path

import pytest

from release.checkout import changed, clean, version_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
WHO = ("-c", "user.name=a", "-c", "user.email=a@example.com")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(("git", "-C", str(root), *WHO, *arguments), check=True, capture_output=True)


def test_what_is_not_committed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And named; the time is the commit's, or the environment's."""
    root, package = tmp_path / "root", tmp_path / "root" / "kubetrio"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "1.2.3"\n')
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first", "--date", "@1000 +0000")
    (root / "more").touch()
    assert changed(root) == ["more"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "77")
    (tmp_path / "clean").mkdir()
    found = clean(root, tmp_path / "clean")
    assert (found.version, found.epoch, len(found.revision)) == ("1.2.3", 77, 40)
    assert [path.name for path in found.folder.iterdir()] == ["kubetrio"]
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    (tmp_path / "later").mkdir()
    assert clean(root, tmp_path / "later").epoch > 77


def test_a_tree_without_a_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kubetrio").mkdir()
    (tmp_path / "kubetrio" / "__init__.py").write_text("")
    with pytest.raises(ValueError, match="names no version"):
        version_of(tmp_path)
