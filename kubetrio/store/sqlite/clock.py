"""The clock that revisions are dated by.

The wall clock may be set ahead and back while the server runs, and between two runs; what is kept
for five minutes is kept for five minutes all the same.  So time goes on by Trio's clock within a
run, and a run begins at the time of the newest revision of the one before: while no server ran
nothing grew older.
"""

from __future__ import annotations

import trio


class Clock:
    """Milliseconds that neither jump nor go back.

    Args:
        newest_ms: time of the newest revision, 0 where there is none.
        wall_ms: the wall clock, for a store without revisions.
    """

    def __init__(self, newest_ms: int, wall_ms: int) -> None:
        self._offset = (newest_ms or wall_ms) - trio.current_time() * 1000

    def now_ms(self) -> int:
        """The time."""
        return int(self._offset + trio.current_time() * 1000)
