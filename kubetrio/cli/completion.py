"""``kubetrio completion``: what shells need to complete commands and flags.

The words are those of the parser at the time it is run, so that a new flag is in the next script.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kubetrio.cli.common import describe, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  source <(kubetrio completion bash)          in ~/.bashrc
  kubetrio completion zsh > "${fpath[1]}/_kubetrio"
  kubetrio completion fish > ~/.config/fish/completions/kubetrio.fish
"""
FILES = frozenset({"FILE", "DIR", "FILE|DIR|-"})


class Option(NamedTuple):
    """A flag.

    Args:
        names: such as ``-v`` and ``--v``.
        help: one line.
        takes: whether a value follows.
        choices: of the value.
        files: whether it is the name of a file or directory.
    """

    names: tuple[str, ...]
    help: str
    takes: bool
    choices: tuple[str, ...]
    files: bool


class Described(NamedTuple):
    """A command.

    Args:
        name: as it is typed.
        help: one line.
        options: its flags.
        words: values of its arguments, where they are a few.
    """

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(parser, "Print a script that has a shell complete commands and flags.", EXAMPLES)
    parser.add_argument("shell", choices=sorted(SCRIPTS), help="for which shell")


@told
def run(call: Call) -> int:
    """Print a script."""
    print(SCRIPTS[call.options.shell](tuple(described())), end="")
    return 0


def described() -> Iterator[Described]:
    """All commands, as their parsers have them."""
    from kubetrio.cli.commands import COMMANDS, parser

    root = parser()
    [subparsers] = [one for one in root._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001  (argparse has no way to list what was added)
    helps = {row.name: row.help for row in COMMANDS}
    for name, each in subparsers.choices.items():
        actions = each._actions  # noqa: SLF001  (as above)
        yield Described(
            name,
            helps[name],
            tuple(_option(action) for action in actions if action.option_strings),
            tuple(
                str(word)
                for action in actions
                if not action.option_strings
                for word in action.choices or ()
            ),
        )


def _option(action: argparse.Action) -> Option:
    shown = "" if action.help == argparse.SUPPRESS else action.help or ""
    text = " ".join(shown.replace("%%", "%").split())
    return Option(
        tuple(action.option_strings),
        text.partition(" (default")[0],
        action.nargs is None or action.nargs in ("+", "*"),
        tuple(map(str, action.choices or ())),
        action.metavar in FILES,
    )


BASH = """\
# bash completion of kubetrio; made by: kubetrio completion bash
_kubetrio() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="" command="" word at
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word="${{COMP_WORDS[at]}}"
        if [[ $word != -* ]]; then command="$word"; break; fi
    done
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$cur"))
        return
    fi
    prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    if [[ $cur == "=" ]]; then cur=""; fi
    if [[ $prev == "=" ]]; then prev="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
    case "$command:$prev" in
{values}    esac
    case "$command" in
{flags}    esac
}}
complete -o default -F _kubetrio kubetrio
"""


def _bash(commands: tuple[Described, ...]) -> str:
    values, flags_of = "", ""
    for command in commands:
        for option in command.options:
            if not option.takes:
                continue
            where = "|".join(f"{command.name}:{name}" for name in option.names)
            words = " ".join(option.choices)
            # Without words bash goes on with names of files, where these are meant.
            reply = f'COMPREPLY=($(compgen -W "{words}" -- "$cur"))' if words else "COMPREPLY=()"
            nothing = "" if words or option.files else "; compopt +o default 2>/dev/null"
            values += f"        {where}) {reply}{nothing}; return ;;\n"
        names = " ".join([*command.words, *(name for one in command.options for name in one.names)])
        reply = f'COMPREPLY=($(compgen -W "{names}" -- "$cur"))'
        flags_of += f"        {command.name}) {reply} ;;\n"
    return BASH.format(
        commands=" ".join(command.name for command in commands), values=values, flags=flags_of
    )


def _zsh(commands: tuple[Described, ...]) -> str:
    lines = [
        "#compdef kubetrio",
        "# made by: kubetrio completion zsh",
        "_kubetrio() {",
        "    local -a commands; commands=(",
        *(f"        {_quoted(f'{one.name}:{one.help}')}" for one in commands),
        "    )",
        "    if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "    local command=$words[2]; shift words; (( CURRENT-- ))",
        "    case $command in",
    ]
    for command in commands:
        lines.append(f"    {command.name}) _arguments \\")
        lines += [
            f"        {_quoted(_zsh_spec(name, option))} \\"
            for option in command.options
            for name in option.names
        ]
        words = f":argument:({' '.join(command.words)})" if command.words else "*:file:_files"
        lines.append(f"        {_quoted(words)} ;;")
    lines += ["    esac", "}", 'if [[ $funcstack[1] == _kubetrio ]]; then _kubetrio "$@"',
              "else compdef _kubetrio kubetrio; fi"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _zsh_spec(name: str, option: Option) -> str:
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    text = text.replace(":", "\\:")
    if not option.takes:
        return f"*{name}[{text}]"
    what = f"({' '.join(option.choices)})" if option.choices else "_files" if option.files else " "
    equals = "=" if name.startswith("--") else "+"
    return f"*{name}{equals}[{text}]:value:{what}"


def _fish(commands: tuple[Described, ...]) -> str:
    lines = ["# made by: kubetrio completion fish"]
    for command in commands:
        lines.append(
            "complete -c kubetrio -n __fish_use_subcommand -f "
            f"-a {command.name} -d {_fish_quoted(command.help)}"
        )
        when = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"complete -c kubetrio {when} -f -a '{' '.join(command.words)}'")
        for option in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.choices:
                value = f" -x -a '{' '.join(option.choices)}'"
            elif option.takes:
                value = " -r" if option.files else " -x"
            about = _fish_quoted(option.help)
            lines.append(f"complete -c kubetrio {when} {names}{value} -d {about}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
