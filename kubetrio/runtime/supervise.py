"""Background tasks that outlive their failures.

What keeps the server's own objects in order is not worth the server: a failed disk, a full table of
open files or a bug in a reconciler is logged, and the task begins anew after a pause.  Prior art:
``wait.BackoffUntil`` of Kubernetes' controllers, which recover from panics in the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NoReturn

import trio

from kubetrio.observe.logs import Log

log = Log("kubetrio")
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


async def run_forever_with_backoff(run: Callable[[], Awaitable[object]], name: str) -> NoReturn:
    """Run a task until cancelled; where it fails or ends, run it again.

    A failure that repeats is one line in the log, as it is of a reflector of client-go: a
    collection that cannot be read stays so until an operator looks.

    Args:
        run: the task; it must be able to begin anew at any time.
        name: what the log calls it.
    """
    pause, last = FIRST_PAUSE_S, ""
    while True:
        began = trio.current_time()
        try:
            await run()
            log.warning("a background task ended, and begins anew", task=name, after=pause)
        except Exception as error:  # noqa: BLE001  (logged; the server must go on)
            text = repr(error)  # which names what a group has
            msg = "a background task failed, and begins anew"
            if text == last:
                log.error(None, msg, err=text, task=name)
            else:
                log.error(error, msg, stack=True, task=name)
            last = text
        if trio.current_time() - began > LONGEST_PAUSE_S:
            pause = FIRST_PAUSE_S  # it had been well
        await trio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)
