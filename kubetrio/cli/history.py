"""``kubetrio history``: the former states of an object that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from kubetrio.audit.lookup import Change, Object, read_writers
from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import (
    Failure,
    Named,
    add_encryption,
    add_object,
    describe,
    key_of,
    object_of,
    say,
    told,
)
from kubetrio.flags import parser as flags
from kubetrio.resources.timeline import Entry, timeline

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio history cm/settings
  kubetrio history deploy/web -n shop --data-dir /var/lib/kubetrio
  kubetrio history cm/settings --audit-log-path audit.log
"""
Users = Mapping[int, str]
"""Users by revision."""
HEAD = ("REVISION", "TIME", "VERB", "MANAGER", "GENERATION")


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "List the states of an object that the server still remembers (see --history-window of\n"
        "kubetrio serve), from its data directory, whether it runs or not. Who wrote a state is\n"
        "told where managedFields tell it; of a deletion they do not, but the audit log may.",
        EXAMPLES,
    )
    add_object(parser)
    add_data_dir(parser)
    add_encryption(parser)
    parser.add_argument(
        "--audit-log-path",
        type=Path,
        metavar="FILE",
        help="the server's audit log, to tell the users too (default: none)",
    )


@told
def run(call: Call) -> int:
    """List the revisions of an object."""
    named = object_of(call.options)
    if named is None:
        parser: flags.Parser = call.options.parser
        parser.error("name an object as KIND/NAME or as KIND NAME")
    return trio.run(_run, call.options, named)


async def _run(options: Namespace, named: Named) -> int:
    from kubetrio.datadir.objects import open_moment
    from kubetrio.env import Env

    async with open_moment(options.data_dir, Env(), options.encryption_provider_config) as moment:
        key = key_of(moment.kinds, named, options.namespace)
        past = await moment.revisions_of(key)
        entries = await timeline(past, partial(moment.state, key))
        kind = moment.kinds.named(named.kind)
    if not entries:
        raise Failure(
            f"nothing is known of {named}: it is not there, and was not "
            f"since revision {moment.compacted}"
        )
    namespace = options.namespace if kind.namespaced else ""
    about = Object(kind.group, kind.resource, namespace, named.name)
    users = _users(options, about, entries)
    shown = HEAD if users is None else (*HEAD, "USER")
    lines = [shown, *(_cells(entry, users) for entry in entries)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(shown))]
    for line in lines:
        print(
            "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
    if any(entry.encrypted for entry in entries):
        say("encrypted states can be read with --encryption-provider-config")
    return 0


def _users(options: Namespace, about: Object, entries: Sequence[Entry]) -> Users | None:
    """The users who made revisions, where an audit log is given."""
    if options.audit_log_path is None:
        return None
    writers = read_writers(options.audit_log_path)
    return writers.users(about, [Change(one.revision, one.verb, one.at_ms) for one in entries])


def _cells(entry: Entry, users: Users | None) -> tuple[str, ...]:
    cells = (
        str(entry.revision),
        entry.time or "-",
        entry.verb,
        "(encrypted)" if entry.encrypted else entry.manager or "-",
        str(entry.generation or "-"),
    )
    return cells if users is None else (*cells, users.get(entry.revision, "-"))
