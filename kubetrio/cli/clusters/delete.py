"""``kubetrio delete``: end the server of a cluster and remove all that it has."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from kubetrio.cli.arguments import duration
from kubetrio.cli.common import describe, told
from kubetrio.cli.place import Cluster, cluster
from kubetrio.cli.stop import TIMEOUT_S, end
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio delete dev
  kubetrio backup dev.tar --cluster dev && kubetrio delete dev
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "End the server of a cluster in order, and remove its data, its keys and its context in\n"
        "$KUBECONFIG or ~/.kube/config. Nothing of it is left.",
        EXAMPLES,
    )
    parser.add_argument("cluster", type=cluster, metavar="CLUSTER", help="which one")
    parser.add_argument(
        "--timeout", type=duration, metavar="DURATION", default=TIMEOUT_S,
        help="how long to wait until its server has ended (default: 60s)",
    )  # fmt: skip


@told
def run(call: Call) -> int:
    """Delete the cluster, unless its server does not end."""
    from kubetrio import kubeconfig

    found: Cluster = call.options.cluster
    if found.data.is_dir() and (code := end(found.data, call.options.timeout)):
        return code
    authority = found.data / "pki" / "ca.crt"
    if authority.is_file():
        path = kubeconfig.default_path(os.environ)
        if kubeconfig.remove(path, found.context, authority.read_bytes()):
            print(f"context {found.context} is removed from {path}")
    found.flags.unlink(missing_ok=True)  # it is no cluster any more, whatever comes between
    shutil.rmtree(found.directory)
    print(f"deleted: cluster {found.name}")
    return 0
