"""Times that note when texts made of them change."""

from __future__ import annotations

from math import inf

import orjson
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import ObjectEncoder
from kubetrio.api.encoding.itemforms import AGE, AgingForm, Noting, no_frame
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.cells import changes_after, duration
from kubetrio.resources.objects import Object
from kubetrio.resources.representation import Ages, Span
from kubetrio.schema.kind import Kind
from kubetrio.wire.negotiate import Accepted

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
    assert now.taken == 2


def rows(kind: Kind, now: float) -> AgingForm:
    """Rows of a kind at a time."""
    make = ObjectEncoder(kind, TABLE, "Metadata", lambda: now, ByteCache(0))._row_text
    return AgingForm(kind, "rows", 1, no_frame, make, lambda: now)


def job(created: str, text: str, began: str, ended: str) -> Object:
    """A Job, whose row has two lengths of time while it runs."""
    status = {"startTime": began, **({"completionTime": ended} if ended else {})}
    return {**JOB, "metadata": {"name": text, "creationTimestamp": created}, "status": status}


def pod(created: str, text: str, began: str, ended: str) -> Object:
    """A Pod whose container was restarted."""
    last = {"terminated": {"finishedAt": ended or began}}
    status = {"containerStatuses": [{"restartCount": 2, "lastState": last}], "phase": text}
    return {**POD, "metadata": {"name": "5s", "creationTimestamp": created}, "status": status}


JOB = {"kind": "Job", "apiVersion": "batch/v1"}
POD = {"kind": "Pod", "apiVersion": "v1"}
JOBS, PODS = (registry().get(*key) for key in (("batch", "v1", "jobs"), ("", "v1", "pods")))
TABLE = Accepted(serializer="json", media_type="application/json", as_kind="Table", as_version="v1")
MOMENTS = st.sampled_from(["1970-01-01T00:16:30Z", "1970-01-01T00:00:10Z", "1970-01-01T01:00:00Z"])
TIMES = st.floats(900, 9_000_000)


@given(MOMENTS, st.text(max_size=9), MOMENTS, st.one_of(st.just(""), MOMENTS), TIMES, TIMES)
def test_other_ages_make_the_row_of_another_time(
    created: str, text: str, began: str, ended: str, first: float, second: float
) -> None:
    """Byte for byte, there and back, and good for as long; whatever the other cells say."""
    for kind, obj in ((JOBS, job(created, text, began, ended)), (PODS, pod(created, text, began,
                                                                          ended))):  # fmt: skip
        value = orjson.dumps(obj)
        before, after = rows(kind, first), rows(kind, second)
        row, (_, until, ages) = before.item(value)
        assert len(ages) in (AGE, 2 * AGE)
        later, span = after.aged(row, ages, second)
        assert (later, span) == after.item(value)
        again, back = before.aged(later, span.ages, first)
        assert (again, back.until, back.ages) == (row, until, ages)


def test_a_row_whose_age_cannot_be_told_is_made_again() -> None:
    """A text that was made of a length of time and other things, and says not where it is."""

    def make(value: bytes, now: float) -> tuple[bytes, Ages]:
        return value + f"{duration(now - 5.0)} or so".encode(), ()

    form = AgingForm(PODS, "rows", 0, no_frame, make, lambda: 25.0)
    assert form.item(b"x") == (b"x20s or so", Span(25.0, 26.0))
