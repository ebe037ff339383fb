"""``kubetrio faults``: what goes wrong on demand in a server that runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.cli.common import Failure, describe, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.asking import RemoteServer
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio faults add fault=409 verb=update,patch resource=deployments count=2
  kubetrio faults add fault=latency delay=2s user=system:serviceaccount:shop:robot
  kubetrio faults add -f faults.yaml
  kubetrio faults list
  kubetrio faults clear fault-1
"""
LISTS = frozenset({"user", "verb", "resource", "subresource", "namespace", "name"})
WHOLE = frozenset({"count", "every", "seed", "afterEvents", "retryAfter", "revisions"})
SHOWN_APART = frozenset({"id", "fault", "seen", "injected"})
HEAD = ("ID", "FAULT", "SEEN", "INJECTED", "RULE")


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    from kubetrio.cli.asking import add_server

    describe(
        parser,
        "Add, list or clear the faults of a server that runs with --fault-injection or --faults.",
        EXAMPLES,
    )
    parser.add_argument("action", choices=("add", "list", "clear"), help="what to do")
    parser.add_argument(
        "words",
        metavar="FIELD=VALUE|ID",
        nargs="*",
        help="add: fields of a rule; clear: rules to end (default: all)",
    )
    parser.add_argument(
        "-f",
        "--filename",
        type=Path,
        metavar="FILE",
        help="add: rules in YAML or JSON, - for stdin",
    )
    add_server(parser)


@told
def run(call: Call) -> int:
    """Do it, and list the rules that are concerned."""
    options = call.options
    action, words = options.action, options.words
    rules: list[Any] = []
    if action == "add":
        if bool(words) == bool(options.filename):
            options.parser.error("add takes either FIELD=VALUE ... or --filename")
        rules = _in_file(options.filename) if options.filename else [rule_of(words)]
    elif options.filename or (action == "list" and words):
        options.parser.error(f"{action} takes {'rules' if action == 'clear' else 'nothing'}")
    left = trio.run(_do, options, rules)
    if action != "clear":
        _print(left)
    return 0


def rule_of(words: list[str]) -> dict[str, Any]:
    """The rule that ``FIELD=VALUE`` words mean; criteria are lists with commas.

    Raises:
        Failure: one has another form.
    """
    rule: dict[str, Any] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or not field:
            raise Failure(f"{word!r} is not FIELD=VALUE")
        try:
            rule[field] = _value(field, value)
        except ValueError:
            raise Failure(f"{word!r}: {value!r} is no number") from None
    return rule


def _value(field: str, value: str) -> Any:
    if field in LISTS:
        return value.split(",")
    if field in WHOLE:
        return int(value)
    return float(value) if field == "probability" else value


def _in_file(path: Path) -> list[Any]:
    """The rules of a file, as the server takes them.

    Raises:
        Failure: it cannot be read.
    """
    from kubetrio.api.pages.faultpages import FaultsError, parsed

    try:
        text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return [rule.as_dict() for rule in parsed(text)]
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error
    except FaultsError as error:
        raise Failure(f"{path}: {error}") from error


async def _do(options: argparse.Namespace, rules: list[Any]) -> list[dict[str, Any]]:
    from kubetrio.cli.asking import RequestRefused, open_server

    async with open_server(options) as server:
        try:
            return await _asked(server, options, rules)
        except RequestRefused as error:
            if error.code != 404:
                raise
            what = "there is no such rule, or the server"
            raise Failure(
                f"{what} runs without --fault-injection"
                if options.words and options.action == "clear"
                else "the server injects no faults: start it with kubetrio serve --fault-injection"
            ) from error


async def _asked(
    server: RemoteServer, options: argparse.Namespace, rules: list[Any]
) -> list[dict[str, Any]]:
    from kubetrio.api.pages.faultpages import ROOT
    from kubetrio.cli.asking import segment

    left: dict[str, Any] = {}
    if options.action == "add":
        left = await server.ask("POST", ROOT, body={"rules": rules})
    elif options.action == "list":
        left = await server.ask("GET", ROOT)
    else:
        for path in [f"{ROOT}/{segment(one)}" for one in options.words] or [ROOT]:
            left = await server.ask("DELETE", path)
    answer_rules: list[dict[str, Any]] = left["rules"]
    return answer_rules


def _print(rules: list[dict[str, Any]]) -> None:
    lines = [HEAD]
    for rule in rules:
        members = " ".join(f"{key}={_text(rule[key])}" for key in rule if key not in SHOWN_APART)
        numbers = str(rule["seen"]), str(rule["injected"])
        lines.append((rule["id"], rule["fault"], *numbers, members))
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    for line in lines:
        print("  ".join(map(str.ljust, line, widths)).rstrip())


def _text(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
