"""Compaction: short transactions towards a fixed target, then free pages back to the file system.

The target is fixed at the start, so writers cannot push it away; a step that fails leaves the floor
where it was, and the next round resumes there.  Steps adapt to the time they take, because each one
holds the writing connection.
"""

from __future__ import annotations

import trio

from kubetrio.env import Env, monotonic
from kubetrio.store.errors import Compacted, FutureRevision
from kubetrio.store.model import Revision
from kubetrio.store.sqlite.writer import Writer

FIRST_STEP = 64  # revisions
LARGEST_STEP = 4096
VACUUM_PAGES = 64


def next_step(step: int, took_s: float, target_s: float) -> int:
    """Revisions for the next transaction, from the time the last one took.

    Args:
        step: revisions of the last transaction.
        took_s: seconds it took.
        target_s: seconds it should take.
    """
    if took_s > target_s:
        return max(1, step // 2)
    if took_s < target_s / 2:
        return min(LARGEST_STEP, step * 2)
    return step


async def compact(
    writer: Writer,
    to: Revision,
    *,
    slot: trio.Semaphore,
    env: Env,
    step_s: float,
    spare: float = 0,
) -> None:
    """Compact up to a revision.

    Args:
        writer: the writing connection.
        to: oldest revision that may be asked for afterwards; below the newest one, whose row keeps
            the revision counter across restarts.
        slot: of the writing connection, taken for each step.
        env: threads.
        step_s: time one step should take, seconds.
        spare: share of the file that may be free pages; what is more is given back.

    Raises:
        Compacted: the revision is compacted already.
        FutureRevision: the revision does not exist yet.
    """
    async with slot:  # else the newest revision may be one of an open transaction
        newest = writer.revision
    if to > newest:
        raise FutureRevision(to, newest)
    if to <= writer.compacted:
        raise Compacted(to, writer.compacted)
    step = FIRST_STEP
    while writer.compacted < to:
        async with slot:
            started = monotonic()  # the wait for the slot is not this step's fault
            # Here, not before: another compaction may have gone further meanwhile.
            target = min(writer.compacted + step, to)
            if target <= writer.compacted:
                break
            with trio.CancelScope(shield=True):
                await env.run_blocking(writer.compact, target)
            took = monotonic() - started
        step = next_step(step, took, step_s)
        await trio.lowlevel.checkpoint()
    async with slot:
        free = writer.free_pages()
        kept = int(writer.pages() * spare)
    while free > kept:
        async with slot:
            with trio.CancelScope(shield=True):
                left = await env.run_blocking(writer.vacuum, VACUUM_PAGES)
        if left >= free:
            break  # nothing moved; the next round tries again
        free = left
        await trio.lowlevel.checkpoint()
