"""``kubetrio create``: make a cluster and run its server in the background."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from kubetrio.cli.clusters.start import add_ways, started
from kubetrio.cli.common import Failure, describe, told
from kubetrio.cli.place import Cluster, PlaceError, existing, named
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio create dev
  kubetrio create edge --profile edge --secure-port 7443
  kubetrio create tests --in-memory --merge-kubeconfig=false
then:
  kubectl get namespaces
  kubetrio list
  kubetrio stop dev
  kubetrio start dev
  kubetrio delete dev
"""
SHOWN = ("secure-port", "bind-address", "profile", "in-memory", "durability", "config")
"""Flags of ``serve`` in the help; the others are taken too."""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    flags.add_serve(parser, without=("merge-kubeconfig", "wait", "version"), shown=SHOWN)
    describe(
        parser,
        "Make a cluster and run its server in the background: its data is in the user's state\n"
        "directory ($XDG_STATE_HOME/kubetrio or ~/.local/state/kubetrio), its port is the first\n"
        "free one from 6443 on unless --secure-port names one, and its context kubetrio-NAME\n"
        "becomes kubectl's current one. All flags of kubetrio serve are taken (kubetrio serve\n"
        "--help) but those that the name decides; they count at each start.",
        EXAMPLES,
    )
    parser.add_argument("cluster", metavar="NAME", help="name of the cluster")
    add_ways(parser)


@told
def run(call: Call) -> int:
    """Make the cluster; a server that does not start leaves nothing behind."""
    from kubetrio.cli.clusters.settings import PORT, free_port, given, text_of

    options = call.options
    try:
        cluster = named(options.cluster, os.environ)
        if cluster.exists:
            raise Failure(
                f"cluster {cluster.name} is there already: kubetrio start {cluster.name}, or "
                f"kubetrio delete {cluster.name} first"
            )
        values = given(options)
        if PORT not in values:
            values[PORT] = free_port(existing(os.environ))
    except ValueError as error:
        options.parser.error(str(error))
    except PlaceError as error:
        raise Failure(str(error)) from error
    made = not cluster.directory.exists()
    cluster.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster.flags.write_text(text_of(values), encoding="utf-8")
    try:
        code = started(cluster, options.wait_for, call.parts, merge=options.merge_kubeconfig)
    except BaseException:
        _undo(cluster, everything=made)
        raise
    if code and not _runs(cluster):
        _undo(cluster, everything=made)
    return code


def _runs(cluster: Cluster) -> bool:
    """Whether a server has the data directory, ready or not."""
    from kubetrio.store.lock import holder

    return cluster.data.is_dir() and holder(cluster.data) is not None


def _undo(cluster: Cluster, *, everything: bool) -> None:
    """Remove what this command has made."""
    if everything:
        shutil.rmtree(cluster.directory)
    else:
        cluster.flags.unlink(missing_ok=True)
