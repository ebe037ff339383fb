"""What `kubetrio envtest-assets` writes, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.envtest import assets

ROOT = Path(__file__).parent.parent.parent.parent
ANY_PORT = "--listen-client-urls=http://127.0.0.1:0"


def test_a_script_runs_the_interpreter_in_its_own_process(tmp_path: Path) -> None:
    """So that signals reach it; any path of the interpreter will do, and the folder of the test
    that starts it is no place to import from."""
    odd = tmp_path / "it's here" / "python"
    odd.parent.mkdir()
    odd.symlink_to(sys.executable)
    text = assets.script("etcd", str(odd))
    assert text.splitlines()[-1].startswith("exec ")
    (tmp_path / "kubetrio.py").write_text("raise SystemExit('from the folder')")
    running = subprocess.Popen(
        ["/bin/sh", "-c", text.replace('"$@"', f"--data-dir={tmp_path / 'data'} {ANY_PORT}")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("This is kubetrio")
        running.terminate()
        assert running.wait(10) == 0


def test_a_second_time_brings_programs_up_to_date(tmp_path: Path) -> None:
    """As after an update of Python or kubetrio; nothing else is in the directory."""
    made = tmp_path / "deep" / "assets"
    assets.lay(made, "/old/python")
    assets.lay(made, "/new/python")
    assert {file.name for file in made.iterdir()} == {"kube-apiserver", "etcd"}
    for file in made.iterdir():
        assert "exec /new/python -P" in file.read_text()
        assert file.stat().st_mode & 0o111 == 0o111


def test_other_programs_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory with binaries of setup-envtest is not written into."""
    (tmp_path / "etcd").write_bytes(b"\x7fELF")
    assert main(["envtest-assets", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kubetrio: {tmp_path / 'etcd'} is another program; choose another directory\n"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["etcd"]


def test_a_directory_that_is_a_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    (tmp_path / "file").touch()
    assert main(["envtest-assets", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err == f"kubetrio: File exists: {tmp_path / 'file'}\n"


def test_kubectl_is_linked_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one the command says so, and lays the rest; one that is there already stays."""
    tools, made = tmp_path / "tools", tmp_path / "assets"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert main(["envtest-assets", str(made)]) == 0
    said = capsys.readouterr()
    assert said.out == f"export KUBEBUILDER_ASSETS={made}\n"
    assert said.err == (
        f"kubetrio: no kubectl on PATH; tests that run it need one at {made / 'kubectl'}\n"
    )
    (tools / "kubectl").write_text("#!/bin/sh\n")
    (tools / "kubectl").chmod(0o755)
    assert main(["envtest-assets", str(made)]) == 0
    assert capsys.readouterr().err == ""
    assert (made / "kubectl").readlink() == tools / "kubectl"
    own = tmp_path / "own"
    own.touch()
    (made / "kubectl").unlink()
    (made / "kubectl").symlink_to(own)
    assert main(["envtest-assets", str(made)]) == 0
    assert (made / "kubectl").readlink() == own


def test_further_arguments_are_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags of the server go to the server."""
    with pytest.raises(SystemExit):
        main(["envtest-assets", "x", "--secure-port=1"])
    assert "unknown flag: --secure-port" in capsys.readouterr().err
