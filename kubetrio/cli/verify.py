"""``kubetrio verify``: whether a data directory or a backup is in order."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import describe, say, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio verify
  kubetrio verify --data-dir /var/lib/kubetrio
  kubetrio verify --backup monday.tar
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Check a data directory, whether a server uses it or not, or a backup: the file, what its\n"
        "tables say of each other, that no revision is missing, and that each value is an object\n"
        "of the kind and name that its key says. A line for each fault; exit code 1 if there is\n"
        "one.",
        EXAMPLES,
    )
    add_data_dir(parser)
    parser.add_argument(
        "--backup", type=Path, metavar="FILE", help="a backup in place of a data directory"
    )


@told
def run(call: Call) -> int:
    """Verify a store."""
    from kubetrio.cli.progress import RED, Bar, painted
    from kubetrio.datadir.archive import opened
    from kubetrio.datadir.verify import FILE_NAME, Seen, existing, settled, verify

    options, seen, count = call.options, Seen(), 0
    paint = painted(sys.stdout)
    with ExitStack() as stack:
        bar = stack.enter_context(Bar("checking"))
        if options.backup:
            room = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            work, _ = stack.enter_context(opened(options.backup, room, bar.to))
            database = work / FILE_NAME
        else:
            database = stack.enter_context(settled(existing(options.data_dir)))
        for fault in verify(database, seen, bar.to, bar.turn):
            bar.clear()
            print(f"{paint(fault.where, RED)}: {fault.what}")
            count += 1
    for folder, values in sorted(seen.encrypted.items()):
        print(f"{folder}: {values} encrypted values were not looked into")
    if seen.schema:
        release = f", last written by kubetrio {seen.release}" if seen.release else ""
        print(f"schema version {seen.schema}{release}")
    checked = f"{seen.live} objects, {seen.revisions} revisions up to {seen.revision}"
    if count:
        say(f"{count} faults in {checked}: restore a backup")
        return 1
    print(f"{checked}: no faults")
    return 0
