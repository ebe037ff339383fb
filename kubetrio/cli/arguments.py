"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import os

from kubetrio.cli.place import data_directory, data_of
from kubetrio.config.kinds import duration as parsed
from kubetrio.flags import parser as flags

ELSE = "here, or else that of the server that kubectl talks to"


def add_data_dir(parser: flags.Parser, *, new: bool = False) -> None:
    """Add ``--data-dir``, as ``serve`` has it, and ``--cluster`` in its place.

    Args:
        parser: of the command.
        new: whether the directory is to be made, so that none is looked for.
    """
    row = flags.FLAGS[0]
    default = row.default_text() if new else f"{row.default_text()} {ELSE}"
    parser.add_argument(
        "--data-dir", type=flags.typed(row.flag.kind), metavar=row.flag.kind.placeholder,
        default=row.default if new else data_directory(os.environ),
        help=f"data directory of a server (default: {default})",
    )  # fmt: skip
    parser.add_argument(
        "--cluster", dest="data_dir", type=data_of, default=argparse.SUPPRESS, metavar="NAME",
        help="the data directory of a cluster that kubetrio create has made",
    )  # fmt: skip


def add_cluster(parser: flags.Parser) -> None:
    """Add the name of a cluster, in place of ``--data-dir``."""
    parser.add_argument(
        "data_dir", nargs="?", type=_maybe_data_of, default=argparse.SUPPRESS, metavar="CLUSTER",
        help="a cluster that kubetrio create has made",
    )  # fmt: skip


def _maybe_data_of(text: str) -> object:
    """As `data_of`; argparse has a default read too, and this one says that there is nothing."""
    return text if text is argparse.SUPPRESS else data_of(text)


def duration(text: str) -> float:
    """A duration in seconds, for argparse.

    Raises:
        ArgumentTypeError: not a duration, or none at all.
    """
    try:
        seconds = parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not seconds:
        raise argparse.ArgumentTypeError("is no time above 0")
    return seconds
