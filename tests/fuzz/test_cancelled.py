"""Await points of requests, compactions, starts and stops are cancelled, some of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fuzz.cancelled import cancel_at, cancel_compactions, cancel_lives
from fuzz.interrupting import OPS, Outcome, interrupt_requests, run


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server logs what it meets."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def requests(folder: Path, *names: str, numbers: range = range(1, 4)) -> Outcome:
    """What comes of requests that are cancelled at their first await points."""
    outcome = Outcome()
    run(partial(interrupt_requests, folder, 1, names, outcome, cancel_at, numbers))
    return outcome


def test_a_request_is_made_or_not(tmp_path: Path) -> None:
    """Each sort of request, cancelled where it waits for its body, a seat or the disk."""
    outcome = requests(tmp_path, *OPS)
    assert outcome.problems == []
    assert set(outcome.points) == set(OPS)
    assert sum(outcome.points.values()) > 40


def test_a_compaction_goes_on_behind_one_that_was_cancelled(tmp_path: Path) -> None:
    outcome = Outcome()
    run(partial(cancel_compactions, tmp_path, 1, outcome, range(1, 8, 3)))
    assert outcome.problems == []
    assert outcome.points["compaction"] == 3


def test_a_start_and_a_stop_leave_a_directory_that_opens(tmp_path: Path) -> None:
    outcome = Outcome()
    cancel_lives(tmp_path, 1, outcome, (2, 9, 20, 25))
    assert outcome.problems == []
    assert outcome.points["start"] > 1
    assert outcome.points["stop"] > 0
