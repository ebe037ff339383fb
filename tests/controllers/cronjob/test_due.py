"""Which start is due."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.cronjob.due import InvalidSchedule, Recent, next_in, recent
from kubetrio.controllers.cronjob.schedules import parsed
from kubetrio.machinery.timestamps import format_time

HOURLY = parsed("0 * * * *")
H = 3600


def cron_job(created: float = 0, last: float | None = None, **spec: Any) -> dict[str, Any]:
    """A CronJob."""
    status = {} if last is None else {"lastScheduleTime": format_time(last)}
    meta = {"creationTimestamp": format_time(created)}
    return {"metadata": meta, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("created", "last", "now", "found"),
    [
        (10, None, 20, Recent(10, None, 0)),
        (10, None, H + 5, Recent(10, H, 0)),
        (10, H, H + 5, Recent(H, None, 0)),
        (10, None, 5 * H + 5, Recent(10, 5 * H, 5)),
        (10, H, 3 * H, Recent(H, 3 * H, 2)),
        (10, None, 200 * H, Recent(10, 200 * H, 200)),
    ],
)
def test_the_last_start_is_due(
    created: float, last: float | None, now: float, found: Recent
) -> None:
    """Of those that were missed, only that."""
    assert recent(cron_job(created, last), HOURLY, now, deadline=True) == found


def test_what_is_too_late_is_not_looked_at() -> None:
    """Where there is a deadline."""
    one = cron_job(startingDeadlineSeconds=100)
    assert recent(one, HOURLY, 5 * H + 200, deadline=True).due is None
    assert recent(one, HOURLY, 5 * H + 50, deadline=True).due == 5 * H
    assert recent(one, HOURLY, 5 * H + 200, deadline=False).due == 5 * H


@pytest.mark.parametrize(("last", "now", "wait_s"), [(None, 20, H - 20), (H, H + 5, H - 5)])
def test_the_next_start_is_waited_for(last: float | None, now: float, wait_s: float) -> None:
    """And a little longer, as clocks may differ."""
    assert next_in(cron_job(10, last), HOURLY, now) == pytest.approx(wait_s + 0.1)


def test_a_schedule_may_never_be_due() -> None:
    """Which is told."""
    never = parsed("0 0 31 2 *")
    with pytest.raises(InvalidSchedule, match="less than 1 second"):
        recent(cron_job(10), never, 20, deadline=True)
    assert next_in(cron_job(10), never, 20) == 0
