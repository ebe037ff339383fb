"""A controller stands back from what another client keeps changing."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.controllers import rivals
from kubetrio.controllers.rivals import FIRST_S, FORGET_S, LONGEST_S, MOST, Rivals


def corrects(one: Rivals, key: str, wanted: str = "x") -> float:
    wait_s = one.wait_s(key, wanted)
    if not wait_s:
        one.corrected(key)
    return wait_s


async def test_it_stands_back_longer_and_longer(
    mock_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    one = Rivals("c", "configmaps")
    assert [corrects(one, "a") for _ in range(MOST + 2)] == [0.0] * MOST + [FIRST_S] * 2
    assert corrects(one, "b") == 0.0
    pauses = list[float]()
    for _ in range(9):
        mock_clock.jump(corrects(one, "a"))
        assert corrects(one, "a") == 0.0
        pauses.append(corrects(one, "a"))
    assert pauses[:3] == [2 * FIRST_S, 4 * FIRST_S, 8 * FIRST_S]
    assert pauses[-1] == LONGEST_S
    assert [vars(one)["kubetrio_fields"]["key"] for one in caplog.records] == ["a"] * 10


async def test_what_held_is_forgotten(mock_clock: MockClock) -> None:
    one = Rivals("c", "configmaps")
    for _ in range(3):
        assert [corrects(one, "a") for _ in range(MOST + 1)] == [0.0] * MOST + [FIRST_S]
        mock_clock.jump(FIRST_S + FORGET_S + 1)


async def test_another_wish_and_a_failure_are_no_corrections() -> None:
    one = Rivals("c", "configmaps")
    for number in range(20):
        assert corrects(one, "a", str(number % 2)) == 0.0
    assert [one.wait_s("b", "x") for _ in range(20)] == [0.0] * 20


async def test_many_objects_are_one_line(
    caplog: pytest.LogCaptureFixture, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the number of others; and memory is bounded."""
    monkeypatch.setattr(rivals, "MOST_KNOWN", 30)
    one = Rivals("c", "configmaps")
    for number in range(50):
        for _ in range(MOST + 1):
            corrects(one, str(number))
    assert len(caplog.records) == 1
    assert len(one._known) == 30
    mock_clock.jump(rivals.SAID_S)
    await trio.lowlevel.checkpoint()
    for _ in range(MOST + 1):
        corrects(one, "more")
    assert [vars(one)["kubetrio_fields"]["others"] for one in caplog.records] == [0, 49]
