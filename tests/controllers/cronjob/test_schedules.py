"""When schedules are due; the rows were computed by the library that upstream uses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubetrio.controllers.cronjob.schedules import parsed, zone_of

ROWS = json.loads((Path(__file__).parent / "schedules.json").read_text())


@pytest.mark.parametrize(("text", "begin", "times"), ROWS)
def test_the_next_times(text: str, begin: int, times: list[int]) -> None:
    """Across changes of clocks too; -1 is never."""
    schedule, found, at = parsed(text), list[int](), float(begin)
    while len(found) < len(times):
        after = schedule.after(at)
        found.append(-1 if after is None else after)
        at = found[-1]
    assert found == times


def test_a_zone_may_be_a_word_of_its_own() -> None:
    """As in the field of a CronJob."""
    assert parsed("0 0 * * *", "Europe/Paris") == parsed("TZ=Europe/Paris 0 0 * * *")
    assert parsed("0 0 * * *").after(0) == 24 * 3600


def test_what_cannot_be_read_is_told() -> None:
    """Fields, and zones."""
    with pytest.raises(ValueError, match="expected exactly 5 fields, found 2"):
        parsed("a b")
    with pytest.raises(ValueError, match="unknown time zone Nowhere/At_All"):
        zone_of("Nowhere/At_All")
