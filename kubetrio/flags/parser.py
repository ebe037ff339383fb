"""The command line of ``kubetrio serve``, made from the flags of the configuration.

Booleans follow pflag: ``--x`` and ``--x=false``, never ``--no-x``.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from kubetrio import __version__
from kubetrio.config import Config
from kubetrio.config.flag import FlagRow, rows
from kubetrio.config.kinds import Kind
from kubetrio.config.profiles import PROFILES
from kubetrio.flags.terminal import Terminal

TERMINAL = "terminal"  # the section of what is no configuration of a server
PROFILE = f"{TERMINAL}.profile"
FLAGS: tuple[FlagRow, ...] = tuple(
    row for row in (*rows(Config), *rows(Terminal, TERMINAL)) if row.flag.name
)
"""All flags, each once, in the order of the configuration."""

BY_NAME = {row.flag.name: row for row in FLAGS}
TERMINAL_FLAGS = {name: row for name, row in BY_NAME.items() if row.section == TERMINAL}

EXAMPLES = """\
examples:
  kubetrio serve                              a server in ./kubetrio-data on 127.0.0.1:6443
  kubetrio serve --data-dir /var/lib/kubetrio --bind-address 0.0.0.0
  kubetrio serve --secure-port 0 --write-kubeconfig /tmp/kubeconfig
  kubetrio serve --detach                     in the background; kubetrio stop ends it

then, in another terminal:
  export KUBECONFIG=./kubetrio-data/kubeconfig
  kubectl get namespaces
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; who wants the whole usage asks for help."""

    def error(self, message: str) -> NoReturn:
        """End the program with 2."""
        about = message.removeprefix("argument ")
        self.exit(2, f"kubetrio: {about} (see {self.prog} --help)\n")


def add_serve(
    parser: Parser, without: Sequence[str] = (), shown: Sequence[str] | None = None
) -> None:
    """Describe ``serve`` and add its flags.

    Args:
        parser: of ``serve``, or of a command that takes its flags too.
        without: names of flags that this command has in another form, or not at all.
        shown: names of flags that are in the command's help, None for all.
    """
    parser.description = "Run a Kubernetes API server on one data directory."
    parser.epilog = EXAMPLES
    if "version" not in without:
        parser.add_argument("--version", action="version", version=f"kubetrio {__version__}")
    groups: dict[str, argparse._ArgumentGroup] = {}
    for row in FLAGS:
        if row.flag.name in without:
            continue
        group = groups.get(row.group)
        if group is None:
            group = groups[row.group] = parser.add_argument_group(row.group)
        hidden = shown is not None and row.flag.name not in shown
        _add(group, row, argparse.SUPPRESS if hidden else help_of(row))


def _add(group: argparse._ArgumentGroup, row: FlagRow, text: str) -> None:
    flag, kind = row.flag, row.flag.kind
    names = [f"-{flag.short}"] if flag.short else []
    # What is not given is not there: then the configuration file decides, and then the default.
    options: dict[str, Any] = {"dest": row.path, "default": argparse.SUPPRESS, "help": text}
    if kind.choices:
        options |= {"choices": kind.choices}
    else:
        options |= {"type": typed(kind), "metavar": kind.placeholder}
    if kind.boolean:
        options |= {"nargs": "?", "const": True}
    if kind.repeated:
        options |= {"action": "append"}
    if kind.once:
        options |= {"action": _Once}
    group.add_argument(*names, f"--{flag.name}", **options)


class _Once(argparse.Action):
    """Refuses a second value: the two do not say which is meant."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take the value."""
        del parser, option_string
        given = f"{self.dest} given"
        if hasattr(namespace, given):
            raise argparse.ArgumentError(self, "more than one value is not taken")
        setattr(namespace, given, True)
        setattr(namespace, self.dest, values)


def help_of(row: FlagRow) -> str:
    """The help of a flag with its default, as argparse takes it."""
    default = row.flag.unset or row.default_text()
    text = f"{row.flag.help} (default: {default})" if default else row.flag.help
    return text.replace("%", "%%")


def typed(kind: Kind) -> Callable[[str], Any]:
    """What reads a value for argparse, which tells only its own error as it is."""

    def read(text: str) -> Any:
        try:
            return kind.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def made(
    options: argparse.Namespace, from_file: Mapping[str, Any] | None = None
) -> tuple[Config, Terminal]:
    """The configuration that parsed flags ask for, and what the command line does besides.

    Args:
        options: parsed flags.
        from_file: values of a configuration file by the paths of fields; flags win over them.

    Raises:
        ConfigError: a value that may not be.
    """
    sections: dict[str, dict[str, Any]] = defaultdict(dict)
    given = {**(from_file or {}), **vars(options)}
    given = {**PROFILES.get(given.get(PROFILE, ""), {}), **given}
    for row in FLAGS:
        value = given.get(row.path, row.default)
        if row.flag.kind.repeated:
            value = tuple(value)
        sections[row.section][row.field] = value
    terminal = Terminal(**sections.pop(TERMINAL))
    own = sections.pop("")
    types = {name: type(getattr(_EMPTY, name)) for name in sections}
    return Config(**own, **{name: types[name](**sections[name]) for name in sections}), terminal


def typed_names(options: argparse.Namespace) -> frozenset[str]:
    """Names of the flags that the command line has."""
    return frozenset(row.flag.name for row in FLAGS if hasattr(options, row.path))


_EMPTY = Config(data_dir=FLAGS[0].default)


def mistakes(wrong: Sequence[str], text: str) -> str:
    """One line about arguments that are mistakes.

    Args:
        wrong: the arguments.
        text: the help, which names the flags there are.
    """
    known = re.findall(r"--[a-z][a-z0-9-]*", text)
    messages: list[str] = []
    value_may_follow = False
    for argument in wrong:
        name, given, _ = argument.partition("=")
        if not name.startswith("-"):
            if not value_may_follow:
                messages.append(f"unexpected argument: {argument}")
            value_may_follow = False
            continue
        value_may_follow = not given
        near = get_close_matches(f"--{name.lstrip('-').replace('_', '-')}", known, 1)
        messages.append(f"unknown flag: {name}{f', did you mean {near[0]}?' if near else ''}")
    return "; ".join(messages)
