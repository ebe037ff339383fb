"""``kubetrio migrate``: objects of a data directory to etcd, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import Failure, add_encryption, describe, say, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call
    from kubetrio.datadir.migration import EtcdPlace, Migrated

EXAMPLES = """\
  kubetrio migrate to-etcd --etcd-servers http://127.0.0.1:2379
  kubetrio serve --etcd-servers http://127.0.0.1:2379         goes on from there

  kubetrio migrate from-etcd --etcd-servers http://127.0.0.1:2379 --data-dir ./back
  kubetrio serve --data-dir ./back                            goes on from there
"""
FLAGS = (
    "etcd-servers",
    "etcd-prefix",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
    "storage-media-type",
    "event-ttl",
)


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Copy all objects of a data directory to an empty etcd, or all objects in etcd to a data\n"
        "directory without a database. The source is only read.\n\n"
        "to-etcd: stop the server of the data directory first, and start replicas when the copy\n"
        "is complete. from-etcd: all objects are of one moment; stop the servers on etcd first\n"
        "if nothing that they write later may be missing.\n\n"
        "Objects keep uids, times and, where the target allows, resourceVersions; the last line\n"
        "says how many did not. Clients that watched the old server list anew. Former states\n"
        "are not copied; Events live for --event-ttl from now on. Keys and certificates stay\n"
        "where they are: a new data directory needs pki/ of the old one.\n\n"
        "After an interruption, kill -9 included, the same command goes on.",
        EXAMPLES,
    )
    parser.add_argument("direction", choices=("to-etcd", "from-etcd"), metavar="DIRECTION",
                        help="to-etcd or from-etcd")  # fmt: skip
    add_data_dir(parser)
    for name in FLAGS:
        row = flags.BY_NAME[name]
        default = row.default_text()
        parser.add_argument(
            f"--{name}", type=flags.typed(row.flag.kind), metavar=row.flag.kind.placeholder,
            default=row.default, required=name == "etcd-servers",
            help=f"{row.flag.help}{f' (default: {default})' if default else ''}",
        )  # fmt: skip
    parser.add_argument(
        "--renumber",
        action="store_true",
        help="to-etcd: let etcd number objects anew, where it would have to be written to more "
        "than a million times to keep resourceVersions",
    )
    add_encryption(parser)


@told
def run(call: Call) -> int:
    """Copy."""
    from kubetrio.datadir.migration import MigrationError

    try:
        migrated = trio.run(_run, call.options)
    except MigrationError as error:
        raise Failure(str(error)) from error
    options = call.options
    target = options.etcd_prefix if options.direction == "to-etcd" else options.data_dir
    print(f"{target}: {migrated.objects} objects, revision {migrated.revision}")
    if migrated.before:
        say(f"{migrated.before} of them were there from an interrupted copy")
    if migrated.renumbered:
        say(f"{migrated.renumbered} objects have another resourceVersion than before")
    return 0


async def _run(options: Namespace) -> Migrated:
    from kubetrio.cli.progress import Bar
    from kubetrio.datadir.frometcd import copy_from_etcd
    from kubetrio.datadir.toetcd import copy_to_etcd
    from kubetrio.env import Env

    place, encryption = _place(options), options.encryption_provider_config
    with Bar("copying") as bar:
        if options.direction == "from-etcd":
            return await copy_from_etcd(options.data_dir, place, encryption, Env(), bar.to)
        return await copy_to_etcd(
            options.data_dir, place, encryption, Env(), bar.to, renumber=options.renumber
        )


def _place(options: Namespace) -> EtcdPlace:
    from kubetrio.datadir.migration import EtcdPlace

    return EtcdPlace(
        servers=options.etcd_servers,
        prefix=options.etcd_prefix,
        media_type=options.storage_media_type,
        ca=options.etcd_cafile,
        cert=options.etcd_certfile,
        key=options.etcd_keyfile,
        event_ttl_s=options.event_ttl,
    )
