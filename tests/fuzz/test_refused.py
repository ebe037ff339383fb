"""Memory and descriptors are refused, at a few points."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.interrupting import Outcome
from fuzz.refused import Descriptors, Memory


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server logs what it meets."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_request_without_memory_is_made_or_not(tmp_path: Path) -> None:
    """In whichever function of the server, in whichever task."""
    outcome = Outcome()
    Memory(outcome).enumerate(tmp_path, 1, "update", range(3, 400, 31))
    assert outcome.problems == []
    assert sum(outcome.points.values()) > 4


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process")
def test_a_server_without_descriptors_loses_nothing(tmp_path: Path) -> None:
    """At its start, and on connections that it can take or not."""
    outcome = Outcome()
    descriptors = Descriptors(tmp_path, outcome)
    descriptors.at_work(3)
    descriptors.at_start((8, 16, 24))
    assert outcome.problems == []
