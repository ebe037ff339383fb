"""The build of the single file looks at what it needs before it works for minutes."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "singlefile" / "build.py"


def test_a_directory_is_no_file_to_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the package itself is, where the name of the program is asked for in a checkout."""
    (tmp_path / "kubetrio").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["build.py", "kubetrio", "--python", "/nothing/there"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert ended.value.code == 2
    assert "kubetrio is a directory: name the file to make" in capsys.readouterr().err


def test_what_is_made_by_default_is_not_the_package() -> None:
    """Beside it in a folder of its own."""
    unwritable = runpy.run_path(str(SCRIPT))["unwritable"]
    assert unwritable(SCRIPT.parent.parent / "dist" / "kubetrio") == ""
    assert "directory" in unwritable(SCRIPT.parent.parent / "kubetrio")
    assert "cannot make" in unwritable(Path("/proc/nothing/kubetrio"))


@pytest.mark.skipif(sys.platform != "linux", reason="the single file is for Linux")
def test_what_is_missing_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler, an interpreter, and its shared library."""
    unfit = runpy.run_path(str(SCRIPT))["unfit"]
    for name, text in (("cc", ""), ("shared", "1"), ("static", "0")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    assert unfit(str(tmp_path / "shared")) == ""
    assert "static was built without a shared library" in unfit(str(tmp_path / "static"))
    assert unfit(str(tmp_path / "none")).endswith("none: No such file or directory")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert unfit(str(tmp_path / "shared")).startswith("there is no C compiler no-such-compiler")
