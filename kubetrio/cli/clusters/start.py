"""``kubetrio start``: run the server of a cluster in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.arguments import duration
from kubetrio.cli.common import Failure, describe, told
from kubetrio.cli.place import Cluster, cluster
from kubetrio.cli.running import State, look, until
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.server.parts import Parts

EXAMPLES = """\
  kubetrio start dev
  kubetrio start dev --wait 10s
"""
WAIT_S = 60.0


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Run the server of a cluster in the background, with the flags that kubetrio create was\n"
        "given, and return when it is ready. Its context becomes kubectl's current one.",
        EXAMPLES,
    )
    parser.add_argument("cluster", type=cluster, metavar="CLUSTER", help="which one")
    add_ways(parser)


def add_ways(parser: flags.Parser) -> None:
    """Add what is about one start and not about the cluster."""
    parser.add_argument(
        "--merge-kubeconfig", type=_boolean, nargs="?", const=True, default=True, metavar="BOOL",
        help="add the context to $KUBECONFIG or ~/.kube/config and make it the current one "
        "(default: true)",
    )  # fmt: skip
    parser.add_argument(
        "--wait", type=duration, metavar="DURATION", default=WAIT_S, dest="wait_for",
        help="how long to wait until the server is ready (default: 60s)",
    )  # fmt: skip


_boolean = flags.typed(flags.BY_NAME["merge-kubeconfig"].flag.kind)


@told
def run(call: Call) -> int:
    """Start the server unless it runs."""
    options = call.options
    found: Cluster = options.cluster
    if found.data.is_dir():
        state = trio.run(until, partial(look, found.data), State.READY, 0.0)
        if state.state is not State.STOPPED:
            where = f" at {state.record.url}" if state.record else ""
            print(f"cluster {found.name} runs already: process {state.pid}{where}")
            return 0
    return started(found, options.wait_for, call.parts, merge=options.merge_kubeconfig)


def started(found: Cluster, wait_s: float, parts: Parts | None, *, merge: bool) -> int:
    """Start the server of a cluster; returns the exit code when it is ready.

    Args:
        found: the cluster, which does not run.
        wait_s: how long to wait until it is ready.
        parts: what an embedder adds.
        merge: whether its context goes into the user's kubeconfig.

    Raises:
        Failure: its flags cannot be used.
    """
    from kubetrio.cli import serve

    parser = flags.Parser(prog="kubetrio serve", allow_abbrev=False)
    flags.add_serve(parser)
    arguments = [
        f"--config={found.flags}", f"--data-dir={found.data}", f"--name={found.name}",
        f"--merge-kubeconfig={str(merge).lower()}", f"--wait={wait_s}s", "--detach",
    ]  # fmt: skip
    try:
        config, terminal, ignored = serve.configured(parser.parse_args(arguments))
    except serve.WrongError as problem:
        raise Failure(str(problem)) from problem
    serve.set_up_logs(terminal, ignored)
    return serve.in_background(config, terminal, parts, found.name)
