"""`kubetrio replay`: a script is done again and compared."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.faults import Rule
from kubetrio.harness import Script, replayed
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Inject, Move, Request, Settle, Watch

MAPS = "/api/v1/namespaces/default/configmaps"
STEPS = (
    Watch(path=f"{MAPS}?watch=1"),
    Request(method="POST", path=MAPS, body={"metadata": {"generateName": "a-"}}),
    Move(seconds=60),
    Inject(rule=Rule(fault="409")),
    Settle(),
    Request(path=f"{MAPS}/{{{{9.metadata.name}}}}"),
)


@pytest.fixture(scope="module")
def recorded() -> Script:
    """A script with answers."""
    return replayed(Script(steps=STEPS))


def told(
    script: Script, capsys: pytest.CaptureFixture[str], path: Path, *flags: str
) -> tuple[int, str]:
    """Exit code and output of a replay."""
    script.save(path)
    code = main(["replay", str(path), *flags])
    return code, capsys.readouterr().out


def test_a_replay_that_is_as_recorded(
    recorded: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each step, exit code 0, and a file that is equal."""
    again = tmp_path / "again.json"
    code, said = told(recorded, capsys, tmp_path / "s.json", "--write", str(again))
    assert code == 0
    assert said.splitlines() == [
        f"1  watch {MAPS}?watch=1  200, 2 events",
        f"2  POST {MAPS}  201",
        "3  move 60s",
        "4  fault 409",
        "5  settle",
        f"6  GET {MAPS}/{{{{9.metadata.name}}}}  not sent: {{{{9.metadata.name}}}} leads nowhere",
    ]
    assert Script.load(again) == recorded


def test_what_differs_is_told(
    recorded: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below its step, with exit code 1; with another seed uids and names do not count."""
    [watch, post, *rest] = recorded.steps
    assert post.answer is not None
    wrong = replace(post, answer=replace(post.answer, status=200))
    code, said = told(replace(recorded, steps=(watch, wrong, *rest)), capsys, tmp_path / "s.json")
    assert code == 1
    assert "    answer.status: 200 / 201\n" in said
    assert said.endswith("1 of 6 steps were answered otherwise\n")
    assert told(recorded, capsys, tmp_path / "s.json", "--seed", "5")[0] == 0


def test_a_script_without_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is done, and nothing is compared."""
    code, said = told(Script(steps=STEPS[2:3]), capsys, tmp_path / "s.json")
    assert code == 0
    assert said.endswith("no recorded answers: nothing was compared\n")


def test_what_a_terminal_would_act_on_is_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of a path, which comes from the file."""
    script = Script(steps=(Request(path="/\x1b[31m\x07"),))
    _, said = told(script, capsys, tmp_path / "s.json")
    assert said.splitlines()[0] == r"1  GET /\x1b[31m\x07  400"


def test_the_shell_script_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file or of standard input; nothing is done."""
    code, said = told(Script(steps=STEPS), capsys, tmp_path / "s.json", "--shell")
    assert (code, said.startswith("#!/bin/sh\n")) == (0, True)
    monkeypatch.setattr("sys.stdin", io.StringIO(str(Script(steps=STEPS))))
    assert main(["replay", "-", "--shell"]) == 0
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "s.json: format: must be"),
        ('{"format":"kubetrio-script/1","steps":[],"server":{"flags":["--x"]}}', "--x is not"),
    ],
)
def test_a_script_that_cannot_be_used_is_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 1."""
    path = tmp_path / "s.json"
    path.write_text(text)
    assert main(["replay", str(path)]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is named."""
    assert main(["replay", str(tmp_path / "none.json")]) == 1
    assert "none.json: No such file" in capsys.readouterr().err


def test_a_kubeconfig_has_no_seed(tmp_path: Path) -> None:
    """That is a mistake on the command line."""
    Script(steps=[Settle(answer=Reply())]).save(tmp_path / "s.json")
    with pytest.raises(SystemExit, match="2"):
        main(["replay", str(tmp_path / "s.json"), "--seed", "1", "--kubeconfig", "x"])
