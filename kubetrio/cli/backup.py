"""``kubetrio backup``: the database, keys and certificates of a server in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import describe, say, size_text, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio backup monday.tar
  kubetrio backup /backups/monday.tar --data-dir /var/lib/kubetrio
  tar -tf monday.tar                          what is in it
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Write a backup of a server, while it runs or not: the database as it is at one moment,\n"
        "and the keys and certificates of its directory (they are secret: the file is for its\n"
        "owner only). Files that flags of the server name are not in it; keys that encrypt\n"
        "objects are such files.",
        EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="where it goes; must not exist")
    add_data_dir(parser)
    parser.add_argument(
        "--cert-dir",
        type=Path,
        metavar="DIR",
        help="where keys and certificates are, if the server is told so (default: DATA_DIR/pki)",
    )


@told
def run(call: Call) -> int:
    """Make a backup."""
    from kubetrio.cli.progress import Bar
    from kubetrio.datadir.archive import backup
    from kubetrio.env import Env

    options = call.options
    pki: Path = options.cert_dir or options.data_dir / "pki"
    with Bar("copying") as bar:
        done = backup(options.data_dir, pki, options.file, Env(), bar.to)
    archive = done.manifest
    size = size_text(options.file.stat().st_size)
    print(f"{options.file}: revision {archive.revision}, {len(archive.files)} files, {size}")
    if len(archive.files) == 1:
        say(f"{pki} has no keys and certificates: a server of this backup makes new ones")
    if archive.encrypted:
        say(
            f"{', '.join(archive.encrypted)} may have encrypted values: keep the file of "
            "--encryption-provider-config too, its keys are not in the backup"
        )
    if done.damaged.first:
        say(
            f"damaged in it, as in the directory: {done.damaged}; keep the backup before it, see "
            f"kubetrio verify --backup {options.file}"
        )
    return 0
