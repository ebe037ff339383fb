"""What a run of a target is told as."""

from __future__ import annotations

import json
from pathlib import Path

import kubetrio
from fuzz.rounds import Round, Target
from fuzz.runs import MOST_POINTS, as_json, play, resident_mb

SEVENS = Target("t", "Sevens are fine.", lambda seed: Round(3, ["seven"] if seed == 7 else []))


def test_what_is_found_is_told_with_its_seed() -> None:
    """And repeats by it."""
    told: list[str] = []
    ran = play(SEVENS, 5, 0, rounds=4, tell=told.append)
    assert (ran.rounds, ran.executions) == (4, 12)
    assert ran.found == told == ["t --rounds 1 --seed 7: seven"]
    assert ran.line().split() == [
        "t",
        "12",
        "executions",
        f"{ran.cpu_s:.1f}",
        "CPU",
        "s",
        "1",
        "found",
    ]


def test_the_course_of_a_long_run_is_bounded() -> None:
    """Its last point is one of the last rounds."""
    rounds = 20 * MOST_POINTS
    ran = play(SEVENS, 10, 0, rounds=rounds)
    assert MOST_POINTS <= len(ran.course) < 2 * MOST_POINTS
    times = [at for at, _, _ in ran.course]
    assert times == sorted(times)
    assert ran.rounds == rounds


def test_a_run_is_json() -> None:
    """With the version that ran, and the seed."""
    data = json.loads(json.dumps(as_json(5, [play(SEVENS, 5, 0, rounds=1)])))
    assert data["facts"]["kubetrio"] == kubetrio.__version__
    assert data["seed"] == 5
    assert data["ran"][0]["invariant"] == "Sevens are fine."


def test_memory_is_that_of_the_process(tmp_path: Path) -> None:
    """In MB; 0 where the system does not say."""
    status = tmp_path / "status"
    assert resident_mb(status) == 0
    status.write_text("Name:\tpython\nVmRSS:\t  123400 kB\nThreads:\t1\n")
    assert resident_mb(status) == 123.4
