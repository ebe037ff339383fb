"""``kubetrio history``: the former states of an object that are kept."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.cli.common import (
    Failure,
    add_data_dir,
    add_encryption,
    add_object,
    describe,
    key_of,
    say,
    told,
)
from kubetrio.flags import parser as flags
from kubetrio.machinery.lastwriter import writer_of
from kubetrio.store.model import EventType

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio history configmap settings
  kubetrio history deploy web -n shop --data-dir /var/lib/kubetrio
"""
VERBS = ("create", "update", "delete")
HEAD = ("REVISION", "TIME", "VERB", "MANAGER", "GENERATION")


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "List the states of an object that the server still remembers (see --history-window of\n"
        "kubetrio serve), from its data directory, whether it runs or not. Who wrote a state is\n"
        "told where managedFields tell it; of a deletion they do not.",
        EXAMPLES,
    )
    add_object(parser)
    add_data_dir(parser)
    add_encryption(parser)


@told
def run(call: Call) -> int:
    """List the revisions of an object."""
    return trio.run(_run, call.options)


async def _run(options: Namespace) -> int:
    from kubetrio.datadir.objects import open_moment
    from kubetrio.env import Env

    lines = [HEAD]
    async with open_moment(options.data_dir, Env(), options.encryption_provider_config) as moment:
        key = key_of(moment.kinds, options)
        before: dict[str, Any] | None = None
        for past in moment.revisions_of(key):
            # The oldest state may be older than the floor: it is there, what made it is not told.
            state = await moment.state(key, past)
            when = dt.datetime.fromtimestamp(past.at_ms // 1000, dt.UTC)
            time = f"{when:%Y-%m-%dT%H:%M:%SZ}" if past.at_ms else ""
            manager, generation = _told_of(before, state, past.type, time)
            lines.append((str(past.revision), time or "-", VERBS[past.type], manager, generation))
            before = None if past.type is EventType.DELETED else state
    if len(lines) == 1:
        raise Failure(
            f"nothing is known of {options.kind} {options.name}: it is not there, and was not "
            f"since revision {moment.compacted}"
        )
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    for line in lines:
        print(
            "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
    if any(line[3] == "(encrypted)" for line in lines):
        say("encrypted states can be read with --encryption-provider-config")
    return 0


def _told_of(
    before: dict[str, Any] | None, state: dict[str, Any] | None, done: EventType, time: str
) -> tuple[str, str]:
    """Who wrote a state, as far as it says so, and its generation."""
    if state is None:
        return "(encrypted)", "-"
    generation = str((state.get("metadata") or {}).get("generation") or "-")
    if done is EventType.DELETED:  # what is kept is the last state, which says who wrote that
        return "-", generation
    return writer_of(before, state, time, created=done is EventType.CREATED) or "-", generation
