"""What commands beside ``serve`` share: flags, and failures that are one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kubetrio.config.kinds import DURATION
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.datadir.objects import Kinds

T = TypeVar("T")

INTERRUPTED = 130  # as shells have it for SIGINT


class Failure(Exception):
    """What a person asked for cannot be done; one line with the next step."""


def describe(parser: flags.Parser, what: str, examples: str) -> None:
    """Say what a command does, and show how.

    Args:
        parser: of the command.
        what: a sentence or more.
        examples: lines of commands.
    """
    parser.description = what
    parser.epilog = f"examples:\n{examples}"


def add_encryption(parser: flags.Parser) -> None:
    """Add the flag of what decrypts objects."""
    parser.add_argument(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="the file that the server is given, to read what is encrypted (default: none)",
    )


def typed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """What reads a value for argparse, which tells only its own error as it is."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def add_object(parser: flags.Parser) -> None:
    """Add ``KIND``, ``NAME`` or ``KIND/NAME``, and the namespace; `object_of` reads them."""
    parser.add_argument(
        "kind",
        metavar="KIND",
        nargs="?",
        help="as kubectl has it: pod, deploy, jobs.batch; or KIND/NAME, such as cm/settings",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of the object")
    parser.add_argument(
        "-n",
        "--namespace",
        default="default",
        metavar="NAME",
        help="namespace of the object (default: default)",
    )


class Named(NamedTuple):
    """An object, as kubectl names it.

    Args:
        kind: such as ``cm`` or ``deployments.apps``.
        name: of the object.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def object_of(options: argparse.Namespace) -> Named | None:
    """The object that `add_object` asked for, None where none is named.

    A mistake ends the program.
    """
    kind, name = options.kind, options.name
    if kind is None:
        return None
    if name is None and kind.count("/") == 1:
        kind, _, name = kind.partition("/")
    if not kind or not name or "/" in kind:
        options.parser.error("name an object as KIND/NAME or as KIND NAME")
    return Named(kind, name)


def key_of(kinds: Kinds, named: Named, namespace: str) -> str:
    """The key of an object.

    Raises:
        UnknownKind: no kind has that name.
    """
    return kinds.named(named.kind).key(namespace, named.name)


duration = typed(DURATION.parse)
"""Reads a Go duration as seconds."""


def whole(text: str) -> int:
    """A number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"invalid number {text!r}: a whole one, not negative")
    return int(text)


def say(text: str) -> None:
    """A line for the person, beside the output."""
    print(f"kubetrio: {text}", file=sys.stderr)


def told(run: Callable[[Call], int]) -> Callable[[Call], int]:
    """Have what a command expects to fail end it with one line and exit code 1."""

    @wraps(run)
    def runs(call: Call) -> int:
        from kubetrio.datadir.archive import ArchiveError
        from kubetrio.datadir.objects import UnknownKind
        from kubetrio.kubeconfig import KubeconfigError
        from kubetrio.outgoing.client import CallError
        from kubetrio.outgoing.target import TargetError
        from kubetrio.store.errors import StoreError

        call.refuse_rest()
        expected = (
            Failure, ArchiveError, CallError, KubeconfigError, StoreError, TargetError, UnknownKind,
        )  # fmt: skip
        try:
            return run(call)
        except expected as error:
            say(str(error))
        except BrokenPipeError:  # who reads has seen enough
            return 1
        except OSError as error:
            reason = error.strerror or str(error)
            say(f"{reason}: {error.filename}" if error.filename else reason)
        except KeyboardInterrupt:
            say("interrupted; nothing was left half-written")
            return INTERRUPTED
        return 1

    return runs


def size_text(size: int) -> str:
    """Bytes as a person reads them."""
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} B"
