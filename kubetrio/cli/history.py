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
        "kubetrio serve), from its data directory, whether it runs or not. Times are those of the\n"
        "store's clock, which stands still while no server runs.",
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
        for past in moment.revisions_of(key):
            # The oldest state may be older than the floor: it is there, what made it is not told.
            state = await moment.state(key, past)
            when = dt.datetime.fromtimestamp(past.at_ms // 1000, dt.UTC)
            manager, generation = _told_of(state)
            verb = VERBS[past.type]
            time = f"{when:%Y-%m-%dT%H:%M:%SZ}" if past.at_ms else "-"
            lines.append((str(past.revision), time, verb, manager, generation))
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


def _told_of(state: dict[str, Any] | None) -> tuple[str, str]:
    """Who wrote a state, as far as it says so, and its generation."""
    if state is None:
        return "(encrypted)", "-"
    meta = state.get("metadata") or {}
    fields = [entry for entry in meta.get("managedFields") or () if entry.get("time")]
    newest: dict[str, Any] = max(fields, key=lambda entry: str(entry["time"]), default={})
    return str(newest.get("manager") or "-"), str(meta.get("generation") or "-")
