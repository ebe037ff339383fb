"""Arguments that several commands have."""

from __future__ import annotations

import argparse

from kubetrio.config.kinds import duration as parsed
from kubetrio.flags import parser as flags


def add_data_dir(parser: flags.Parser) -> None:
    """``--data-dir``, as ``serve`` has it."""
    row = flags.FLAGS[0]
    parser.add_argument(
        f"--{row.flag.name}", type=flags.typed(row.flag.kind), default=row.default,
        metavar=row.flag.kind.placeholder,
        help=f"data directory of the server (default: {row.default_text()})",
    )  # fmt: skip


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
