"""The command line of the makers of facts."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from trees import plant

from facts.__main__ import main
from facts.documents import dump, load

ROOT = Path(__file__).parents[2]
COMMANDS = ("source", "server", "flags", "generate", "diff", "check", "scaffold", "etcd", "storage")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command says what it reads; the first page names them all."""
    with pytest.raises(SystemExit) as done:
        main([*command.split(), "--help"])
    said = capsys.readouterr().out
    assert done.value.code == 0
    assert f"usage: python -m facts {command}".strip() in said
    assert len(said) > 300
    if not command:
        assert all(f"python -m facts {name}" in said for name in COMMANDS)


def test_it_runs_as_a_module() -> None:
    """From the checkout, without installing it."""
    done = subprocess.run(
        [sys.executable, "-m", "facts", "--help"], cwd=ROOT, check=True, capture_output=True
    )
    assert b"Make the facts" in done.stdout


def test_source_writes_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints their names."""
    assert main(["source", str(plant(tmp_path / "tree")), str(tmp_path / "inputs")]) == 0
    assert "protobuf\n" in capsys.readouterr().out
    assert (tmp_path / "inputs" / "protobuf.json").is_file()


def test_flags_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As kube-apiserver prints them."""
    monkeypatch.setattr("sys.stdin", io.StringIO("Generic flags:\n\n      --a int   A.\n"))
    assert main(["flags", "-", str(tmp_path)]) == 0
    assert load(tmp_path, "flags") == {
        "flags": {"a": {"group": "Generic", "type": "int", "default": "0"}},
        "featureGates": {},
    }


def test_diff_exits_as_diff_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 for equal, 1 for different, 2 for trouble."""
    for name, value in (("old", 1), ("new", 2)):
        dump(tmp_path / name / "names.json", {"a": value})
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    assert main(["diff", old, old]) == 0
    assert capsys.readouterr().out == ""
    assert main(["diff", old, new]) == 1
    assert capsys.readouterr().out == "names that are taken (names)\n  ~ a: 1 -> 2\n"
    assert main(["diff", old, str(tmp_path)]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["source", ".", "inputs"], "no api/openapi-spec"),
        (["server", "inputs"], "give one of --kubeconfig and --server"),
        (["generate", "nowhere", "nowhere"], "published-types.json"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a traceback."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_text_without_flags_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not the help of kube-apiserver."""
    (tmp_path / "help").write_text("no such command\n")
    assert main(["flags", str(tmp_path / "help"), str(tmp_path)]) == 2
    assert "no flags" in capsys.readouterr().err
