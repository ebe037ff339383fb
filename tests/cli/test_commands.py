"""Commands and their usage errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kubetrio import __version__
from kubetrio.cli import main


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "x"]])
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the word that was not understood."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]])
def test_nothing_and_help_teach(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Commands, the first steps, and exit code 0."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    said = capsys.readouterr().out
    assert "first steps:\n  kubetrio create dev" in said


def test_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """``help COMMAND`` is ``COMMAND --help``; of no command it is an error."""
    with pytest.raises(SystemExit, match="0"):
        main(["help", "stop"])
    assert capsys.readouterr().out.startswith("usage: kubetrio stop")
    with pytest.raises(SystemExit, match="2"):
        main(["help", "stpo"])
    assert capsys.readouterr().err.startswith("kubetrio: unknown command: stpo, did you mean stop?")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--secure-prot=1", "unknown flag: --secure-prot, did you mean --secure-port?"),
        ("--data_dir", "unknown flag: --data_dir, did you mean --data-dir?"),
        ("-data-dir", "unknown flag: -data-dir, did you mean --data-dir?"),
        ("--zzz", "unknown flag: --zzz"),
        ("--data-dir=", "--data-dir: an empty path; leave the flag out for its default"),
        ("--durablity full", "unknown flag: --durablity, did you mean --durability?"),
        ("x", "unexpected argument: x"),
        (
            "--durability=Full",
            "--durability: invalid choice: 'Full' (choose from 'full', 'normal')",
        ),
        ("--secure-port=x", "--secure-port: invalid port 'x': between 0 and 65535"),
        ("--bind-address=[::1]", "--bind-address: failed to parse IP: '[::1]'"),
        ("--advertise-address=x", "--advertise-address: failed to parse IP: 'x'"),
    ],
)
def test_a_usage_error_is_one_line(
    argument: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the flag that was meant, if one is near; the usage is for those who ask."""
    with pytest.raises(SystemExit) as caught:
        main(["serve", *argument.split()])
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.replace("choose from full, normal", "choose from 'full', 'normal'") == (
        f"kubetrio: {said} (see kubetrio serve --help)\n"
    )


def test_the_module_is_a_command() -> None:
    """`python -m kubetrio`."""
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", "--version"],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout == f"kubetrio {__version__}\n"


COLLECTIONS = """
import gc, sys
from kubetrio.cli import main
before, threshold = [row["collections"] for row in gc.get_stats()], gc.get_threshold()
main(["export", "--data-dir", "/dev/null/nowhere"])  # loads what reads objects, and fails
after = [row["collections"] for row in gc.get_stats()]
print(sum(after) - sum(before), gc.get_threshold() == threshold)
"""


def test_a_start_is_not_interrupted_by_collections_of_garbage() -> None:
    """What is made of modules stays; who calls the command line has the thresholds it had."""
    ran = subprocess.run(
        [sys.executable, "-c", COLLECTIONS], capture_output=True, text=True, check=True
    )
    collections, restored = ran.stdout.split()
    assert int(collections) <= 2
    assert restored == "True"
