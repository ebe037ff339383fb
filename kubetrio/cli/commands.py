"""The commands there are, and what runs the one that is asked for."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from kubetrio import __version__
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.server.parts import Parts


class Command(NamedTuple):
    """A command.

    Args:
        name: as it is typed.
        help: what it does, in a line of ``kubetrio --help``.
        module: of this package, has `add` and `run`; loaded when the command is asked for.
    """

    name: str
    help: str
    module: str


class Module(Protocol):
    """What the module of a command has."""

    def add(self, parser: flags.Parser) -> None:
        """Describe the command and add its arguments."""
        ...

    def run(self, call: Call) -> int:
        """Run it; returns the exit code."""
        ...


class Call(NamedTuple):
    """What was asked for.

    Args:
        options: parsed arguments; `options.parser` ends the program with an error about them.
        rest: arguments that the parser does not know.
        parts: what a command of an embedder's adds to the server.
    """

    options: argparse.Namespace
    rest: Sequence[str]
    parts: Parts | None

    def refuse_rest(self) -> None:
        """End the program where there are arguments that the parser does not know."""
        if self.rest:
            parser: flags.Parser = self.options.parser
            parser.error(flags.mistakes(self.rest, parser.format_help()))


COMMANDS = (
    Command("create", "make a cluster of a name and run it in the background", "clusters.create"),
    Command("start", "run a cluster that was stopped", "clusters.start"),
    Command("stop", "end the server of a cluster or a data directory", "stop"),
    Command("list", "list the clusters there are", "clusters.listing"),
    Command("delete", "end a cluster and remove all that it has", "clusters.delete"),
    Command("serve", "run the API server on a data directory", "serve"),
    Command("status", "say whether a server runs and is ready", "status"),
    Command("kubeconfig", "print or merge the administrator's kubeconfig", "kubeconfig"),
    Command("token", "make a token of a service account", "token"),
    Command("faults", "inject faults into a server that runs", "faults"),
    Command("nodes", "add or remove simulated nodes of a server that runs", "nodes"),
    Command("backup", "write a backup of a server, running or not", "backup"),
    Command("restore", "make a data directory of a backup", "restore"),
    Command("migrate", "copy objects to etcd, or from there", "migrate"),
    Command("export", "write what is in a data directory as manifests", "export"),
    Command("import", "apply manifests to a server", "importing"),
    Command("verify", "check a data directory or a backup", "verify"),
    Command("history", "list the former states of an object", "history"),
    Command("diff", "show what changed between two revisions", "diff"),
    Command("replay", "do the requests of a script again and compare the answers", "replay"),
    Command("fuzz-operator", "look for what an operator does wrong", "fuzzoperator"),
    Command("ui", "show a server's pages in a browser", "ui"),
    Command("compact", "forget former states and give their room back", "compact"),
    Command("gen-types", "print Python types of custom resources", "gentypes"),
    Command("completion", "print a script for a shell", "completion"),
    Command("version", "print versions", "version"),
    Command("envtest-assets", "lay what envtest of controller-runtime starts", "envtest.assets"),
)
"""In the order of the help."""


FIRST_STEPS = """\
first steps:
  kubetrio create dev                  a server in the background, with a context for kubectl
  kubectl get namespaces               talks to it
  kubetrio list                        what there is; kubetrio stop, start and delete by name
  kubetrio serve                       a server in this terminal, on ./kubetrio-data

kubetrio help COMMAND, or kubetrio COMMAND --help, says more.
"""
HELP = "help"


def parser(command: str | None = None) -> flags.Parser:
    """The command line.

    Args:
        command: the one whose arguments are wanted; of all when None.
    """
    top = flags.Parser(
        prog="kubetrio",
        description="The Kubernetes API server you can pip install.",
        epilog=FIRST_STEPS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"kubetrio {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for row in COMMANDS:
        subparser = commands.add_parser(
            row.name,
            help=row.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        subparser.set_defaults(parser=subparser)
        if command in (None, row.name):
            _module(row.name).add(subparser)
    return top


def _module(name: str) -> Module:
    [module] = [row.module for row in COMMANDS if row.name == name]
    return cast("Module", import_module(f"kubetrio.cli.{module}"))


def main(arguments: Sequence[str] | None = None, parts: Parts | None = None) -> int:
    """Run a command; returns the exit code.

    Args:
        arguments: of the command line; those of the process when None.
        parts: what a command of your own adds to the server.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] == HELP:
        given = [*given[1:2], "--help"]
    with _few_collections():
        return _run(given, parts)


GARBAGE = 100_000
"""New containers between collections of garbage, up to the time that a server is ready.

What is made until then stays: modules, types, tables.  With Python's 700 a start was collected 209
times for a tenth of its CPU time.
"""


@contextmanager
def _few_collections() -> Iterator[None]:
    """Have garbage collected rarely in a block, unless what runs in it decides otherwise."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run(given: list[str], parts: Parts | None) -> int:
    """Find the command and run it; returns the exit code."""
    asked = next((word for word in given if not word.startswith("-")), "")
    root = parser(asked)
    known = [row.name for row in COMMANDS]
    if asked and asked not in known:
        near = get_close_matches(asked, known, 1)
        root.error(f"unknown command: {asked}{f', did you mean {near[0]}?' if near else ''}")
    options, rest = root.parse_known_args(given)
    try:
        return _module(options.command).run(Call(options, rest, parts))
    finally:
        _let_go_of_output()


def _let_go_of_output() -> None:
    """Give up what cannot be written: else the interpreter ends with a code of its own for it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
