"""The proof of determinism: it finds what differs, and nothing in a few scripts."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.determinism import RECORD, REPLAY, Plan, compare, main, play, prove, recorded, setup_of
from kubetrio.harness import Inject, Move, Request, Script, Watch, run


@pytest.mark.e2e
def test_a_script_gets_the_same_answers_in_two_processes(tmp_path: Path) -> None:
    """With hash seeds of their own."""
    [(scripts, steps, findings)] = prove(Plan(seed=1, scripts=1, folder=tmp_path))
    assert scripts == 1
    assert findings == []
    assert steps > 30
    assert list(tmp_path.iterdir()) == []


@pytest.mark.e2e
@pytest.mark.slow
def test_interpreters_take_turns(tmp_path: Path) -> None:
    """One records, the others replay; scripts about copies of a server are among them."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    folder = tmp_path / "scripts"
    folder.mkdir()
    numbers = tmp_path / "numbers.json"
    arguments = ["--scripts", "3", "--seed", "3", "--light", "--batch", "2", "--keep", str(folder)]
    main([*arguments, "--python", str(other), "--json", str(numbers)])
    told = json.loads(numbers.read_text())
    assert told["differences"] == []
    assert told["pythons"] == [platform.python_version()] * 2
    assert told["scripts"] == 3
    assert told["steps"] > 20
    assert list(folder.iterdir()) == []


def test_a_byte_that_differs_is_found(tmp_path: Path) -> None:
    """In an answer, and in what is stored."""
    [one] = play(RECORD, tmp_path, [3])
    [other] = play(REPLAY, tmp_path, [3])
    assert compare(tmp_path, one, other) == []
    path = tmp_path / f"3-{REPLAY}.json"
    script = Script.load(path)
    at, step = next((at, step) for at, step in enumerate(script.steps) if step.answer is not None)
    assert step.answer is not None
    steps = list(script.steps)
    steps[at] = replace(step, answer=replace(step.answer, status=299))
    replace(script, steps=tuple(steps)).save(path)
    found = compare(tmp_path, one, other._replace(answers="", store=""))
    assert found[0].startswith(f"seed 3: step {at + 1}: answer.status: ")
    assert found[1:] == ["seed 3: other objects are stored"]


def test_scripts_have_steps_of_all_kinds() -> None:
    """Requests of several users, watches, moves and faults."""
    kinds: set[type[object]] = set()
    for seed in (1, 2, 3):
        script, _ = run(recorded, setup_of(seed))
        kinds |= {type(step) for step in script.steps}
    assert kinds >= {Request, Watch, Move, Inject}
