"""Completion is made of the parser; bash runs what is made for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kubetrio.cli import main
from kubetrio.cli.commands import COMMANDS
from kubetrio.cli.reference import page

ROOT = Path(__file__).parent.parent.parent


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of some words."""
    line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
    line = line.replace(" '')", ' "")')
    program = f'{script}\n{line}; _kubetrio; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands, flags of each, values where there are a few."""
    made = script("bash", capsys)
    assert set(completed(made, "kubetrio", "''")) >= {row.name for row in COMMANDS}
    assert completed(made, "kubetrio", "ba") == ["backup"]
    assert completed(made, "kubetrio", "restore", "--bu") == ["--bump-revision"]
    assert completed(made, "kubetrio", "version", "--output", "j") == ["json"]
    assert completed(made, "kubetrio", "version", "--output", "=", "y") == ["yaml"]
    assert completed(made, "kubetrio", "token", "cr") == ["create"]
    assert completed(made, "kubetrio", "serve", "--durability", "n") == ["normal"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_others_parse(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is made for zsh and fish is a script of theirs."""
    made = script(shell, capsys)
    assert "bump-revision" in made
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([found, "-n"], input=made, text=True, check=True, timeout=30)


def test_every_command_has_a_description_examples_and_helps() -> None:
    """For each flag, too."""
    from kubetrio.cli.commands import parser

    for row in COMMANDS:
        made = parser(row.name)
        for action in made._actions:
            choices = getattr(action, "choices", None) or {}
            if row.name in choices:
                each = choices[row.name]
                assert "examples:" in each.epilog
                assert each.description
                assert all(one.help for one in each._actions)


def test_the_reference_is_what_the_parsers_say() -> None:
    """`python -m kubetrio.cli.reference` makes it anew."""
    assert (ROOT / "docs/reference/commands.md").read_text() == page()
