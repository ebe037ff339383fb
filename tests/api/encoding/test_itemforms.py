"""Times that note when texts made of them change."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.encoding.itemforms import Noting
from kubetrio.kinds.common.cells import changes_after, duration

LENGTHS = st.one_of(
    st.floats(0, 700), st.floats(0, 12 * 3600), st.floats(0, 10 * 86400), st.floats(0, 1e10)
)


@given(LENGTHS, st.floats(0, 0.999))
def test_a_text_stays_until_it_is_said_to_change(passed: float, share: float) -> None:
    """And not longer than a step."""
    left = changes_after(passed)
    assert left > 0
    assert duration(passed + left * share) == duration(passed)
    assert duration(passed + left + 1e-3) != duration(passed) or passed > 1e9


def test_what_is_not_over_changes_at_once() -> None:
    """Such as a time of a clock that is ahead."""
    assert changes_after(-3.0) == 0.0


def test_the_earliest_change_is_noted() -> None:
    """Of all that was taken from the time."""
    now = Noting(1000.0)
    assert now.until == inf
    assert now - 100.0 == 900.0  # 15m: until 16
    assert now.until == 1060.0
    assert now - 999.5 == 0.5
    assert now.until == 1000.5
    assert now + 1.0 == 1001.0
