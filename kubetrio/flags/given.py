"""The configuration that flags given as texts ask for: in tests, and in files that name flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from kubetrio.config import Config, ConfigError
from kubetrio.flags import parser


class FlagsError(ValueError):
    """Flags cannot be used; one line says which and why."""


class _Parser(parser.Parser):
    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the program."""
        raise FlagsError(message)


def configured(own: Sequence[str], flags: Sequence[str]) -> Config:
    """The configuration of some flags of ``kubetrio serve``.

    Args:
        own: flags of the caller, ``--name=value``, each of which one of `flags` replaces.
        flags: flags of the user, ``--name`` or ``--name=value``.

    Raises:
        FlagsError: one is not known, or has a value that may not be.
    """
    given = {flag.partition("=")[0] for flag in flags}
    chosen = [flag for flag in own if flag.partition("=")[0] not in given]
    reads = _Parser(prog="kubetrio serve")
    parser.add_serve(reads)
    try:
        return parser.made(reads.parse_args([*chosen, *flags]))[0]
    except ConfigError as problem:
        raise FlagsError(problem.by_flag()) from problem
