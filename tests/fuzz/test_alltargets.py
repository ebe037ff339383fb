"""Every target of ``python -m fuzz`` plays a round and finds nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from fuzz.__main__ import main
from fuzz.alltargets import TARGETS

SLOW = ("requests", "rights", "behind", "store", "watch", "crash")
"""These have tests of their own, which play rounds."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server logs what it meets."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TARGETS]
)
def test_a_round_finds_nothing(name: str) -> None:
    told = TARGETS[name].play(1)
    assert told.problems == []
    assert told.executions > 10


def test_a_round_repeats_itself() -> None:
    """A seed decides what is tried."""
    assert TARGETS["api"].play(2) == TARGETS["api"].play(2)


def test_every_target_has_a_name_and_its_invariant_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(TARGETS)
    assert all(line.endswith(".") for line in lines)
