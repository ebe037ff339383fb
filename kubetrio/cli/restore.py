"""``kubetrio restore``: a data directory of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import describe, say, told, whole
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio restore monday.tar --data-dir ./again
  kubetrio restore monday.tar --force         in the place of ./kubetrio-data, which is moved aside
"""
AHEAD = 1_000_000_000


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Make a data directory of a backup, which is checked first. Revisions go on far above\n"
        "those of the backup, and history before is gone: clients that watched the server since\n"
        "then are told 410 and list anew, and no revision means two different things.",
        EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what kubetrio backup made")
    add_data_dir(parser, new=True)
    parser.add_argument(
        "--force",
        action="store_true",
        help="move the directory aside if something is in it; nothing is deleted",
    )
    parser.add_argument(
        "--bump-revision",
        type=whole,
        metavar="N",
        default=AHEAD,
        help="revisions that are left out; more than were written since the backup "
        f"(default: {AHEAD})",
    )


@told
def run(call: Call) -> int:
    """Restore a backup."""
    from kubetrio.cli.progress import Bar
    from kubetrio.datadir.archive import restore
    from kubetrio.env import Env

    options = call.options
    if not options.bump_revision:
        options.parser.error("--bump-revision: at least 1")
    with Bar("restoring") as bar:
        done = restore(
            options.file,
            options.data_dir,
            Env(),
            bar.to,
            ahead=options.bump_revision,
            force=options.force,
        )
    print(
        f"{options.data_dir}: revision {done.manifest.revision} of {done.manifest.made}, "
        f"goes on from {done.revision}"
    )
    if done.aside:
        say(f"what was there is in {done.aside}; remove it when it is not needed any more")
    if done.manifest.encrypted:
        say("encrypted values need the --encryption-provider-config of the server of the backup")
    if done.damaged.first:
        say(
            f"damaged in it, and not served: {done.damaged}; another backup may "
            f"have it whole, see kubetrio verify --backup {options.file}"
        )
    return 0
