"""Planted bugs are found, each within a minute of CPU, and nothing is found without one."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from fuzz.planted import BUGS, LIMIT_S, find, planted
from kubetrio.machinery import quantity

QUICK = ("wrong resourceVersion", "stale consistent read", "order of quantities")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server logs what it meets."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in BUGS]
)
def test_a_planted_bug_is_found(name: str) -> None:
    found = find(BUGS[name], 1)
    assert found.by
    assert found.cpu_s < LIMIT_S
    assert found.told


def test_a_bug_is_gone_behind_its_block() -> None:
    """What was replaced is as it was."""
    former = quantity._aligned
    with planted(BUGS["order of quantities"]):
        assert quantity.parse("-1") > quantity.parse("0")
    assert quantity._aligned is former
    assert quantity.parse("-1") < quantity.parse("0")
