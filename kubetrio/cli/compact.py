"""``kubetrio compact``: drop history, and give its room back to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import describe, duration, size_text, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio compact                            forget all former states
  kubetrio compact --keep 1h --data-dir /var/lib/kubetrio
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Forget former states of objects, and give the room back to the disk. For a server that\n"
        "is stopped: one that runs does the same by itself (kubetrio serve --history-window).",
        EXAMPLES,
    )
    add_data_dir(parser)
    parser.add_argument(
        "--keep",
        type=duration,
        metavar="DURATION",
        default=0.0,
        help="how much history stays, before the newest write (default: 0s)",
    )


@told
def run(call: Call) -> int:
    """Compact a data directory."""
    from kubetrio.cli.progress import Bar
    from kubetrio.datadir.verify import shrink
    from kubetrio.env import Env

    options = call.options
    with Bar("compacting") as bar:
        done = shrink(options.data_dir, options.keep, now_ms=int(Env().now() * 1000), tell=bar.to)
    print(
        f"{options.data_dir}: compacted to revision {done.compacted}, {done.revisions} revisions "
        f"dropped, {size_text(done.before)} before, {size_text(done.after)} now"
    )
    return 0
