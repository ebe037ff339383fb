"""Revisions by the clock, and times of revisions: ``/ui/moment``.

``?time=T`` (RFC 3339) asks for the newest revision that was made by then; a time in whole seconds
includes that second, for times of revisions are shown in whole seconds.  ``?revision=N`` asks for
the time of a revision.  The answer has both, and those of the oldest and the newest revision that
are kept.  Where the wall clock was set back, one of the revisions that fit is told.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from kubetrio.api.request import Request
from kubetrio.machinery.status import bad_request, expired
from kubetrio.resources.timeline import time_text
from kubetrio.store.model import Revision, Store
from kubetrio.store.past import Retained

LOOK = 64
"""Revisions whose times are asked for at once."""
MOST_LOOKS = 16
"""Looks for a revision with a time, until there counts as none."""


class Moments:
    """The times of a server's revisions.

    Args:
        store: whose they are.
        past: tells times; None where the engine has none.
    """

    def __init__(self, store: Store, past: Retained | None) -> None:
        self._store = store
        self._past = past

    async def answer(self, request: Request, newest: Revision) -> dict[str, Any]:
        """Return a revision and its time.

        Args:
            request: with ``revision`` or ``time`` in its query, or neither for the newest.
            newest: revision that is told.

        Raises:
            ApiError: 400 or 410.
        """
        text, number = request.query.get("time"), request.query.get("revision")
        oldest = self._store.compacted
        revision = newest
        if text is not None:
            revision = await self._by(_milliseconds(text), newest)
        elif number is not None:
            if not (number.isascii() and number.isdigit() and len(number) < 19):
                raise bad_request("revision must be a whole number")
            revision = int(number)
            if revision < oldest:
                raise expired("this revision is not kept any more")
            if revision > newest:
                raise bad_request(f"revision {revision} does not exist yet")
        return {
            "revision": revision,
            "time": await self._time(revision, oldest),
            "oldest": oldest,
            "oldestTime": await self._first(oldest, newest),
            "newest": newest,
            "newestTime": await self._time(newest, oldest),
        }

    async def _by(self, at_ms: int, newest: Revision) -> Revision:
        """The newest revision that was made by a time; the oldest where all are younger."""
        low, high = self._store.compacted, newest
        while low < high:
            middle = (low + high + 1) // 2
            known = await self._dated(middle, low)
            if known is None or known[1] <= at_ms:
                low = middle
            else:
                high = known[0] - 1
        return max(low, self._store.compacted)

    async def _dated(self, upto: Revision, above: Revision) -> tuple[Revision, int] | None:
        """The newest revision with a time, and that, above a revision and not far below another."""
        for _ in range(MOST_LOOKS):
            if upto <= above or self._past is None:
                return None
            first = max(above + 1, upto - LOOK + 1)
            dates = await self._past.dates(range(first, upto + 1))
            if dates:
                revision = max(dates)
                return revision, dates[revision]
            upto = first - 1
        return None

    async def _time(self, revision: Revision, oldest: Revision) -> str:
        known = await self._dated(revision, max(oldest - 1, 0))
        return "" if known is None else time_text(known[1])

    async def _first(self, oldest: Revision, newest: Revision) -> str:
        """The time of the oldest revision that has one."""
        if self._past is None:
            return ""
        dates = await self._past.dates(range(oldest, min(newest, oldest + LOOK) + 1))
        return time_text(dates[min(dates)]) if dates else ""


def _milliseconds(text: str) -> int:
    """A time as milliseconds since the epoch.

    Raises:
        ApiError: 400, it is none.
    """
    try:
        time = dt.datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=dt.UTC)
        whole = 999 if time.microsecond == 0 else 0
        return int(time.timestamp() * 1000) + whole
    except (ValueError, OverflowError):
        raise bad_request("time must be RFC 3339, such as 2026-01-31T12:00:00Z") from None
