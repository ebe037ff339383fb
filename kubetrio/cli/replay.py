"""``kubetrio replay``: do the requests of a script again, and say what is answered otherwise."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.common import Failure, describe, told, whole
from kubetrio.cli.progress import GREEN, RED, painted
from kubetrio.cli.scriptfile import read_script, refuse_flags
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.harness.comparing import Difference
    from kubetrio.harness.script import Script, Step

EXAMPLES = """\
  kubetrio replay script.json                       on a new server in memory
  kubetrio replay script.json --write again.json    and keep what was answered
  kubetrio replay script.json --kubeconfig FILE     on a server that runs
  kubetrio replay script.json --shell | sh          the same requests by curl
"""
SHOWN = 20
"""Differences of a step that are printed."""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Do the requests of a script again, in the order of its steps, and print the status of\n"
        "each answer.  A script is JSON; kubetrio.harness records and finds them.\n\n"
        "Without --kubeconfig they go to a new server in memory, made as the script says, on a\n"
        "clock that does not run; a seed decides every byte, so each answer is compared with the\n"
        "recorded one byte for byte.  Answers of a server that runs are compared without what is\n"
        "particular to a server: uids, times, generated names and resourceVersions.\n\n"
        "Exit code 0 says that all was answered as recorded.",
        EXAMPLES,
    )
    parser.add_argument(
        "script", type=Path, metavar="SCRIPT", help="the script, a file of JSON; - for stdin"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="replay on the server of this kubeconfig (default: a new server in memory)",
    )
    parser.add_argument(
        "--seed", type=whole, metavar="NUMBER", help="another seed than that of the script"
    )
    parser.add_argument(
        "--alike",
        action="store_true",
        help="compare without uids, times, generated names and resourceVersions",
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the script with the answers of now"
    )
    parser.add_argument(
        "--shell", action="store_true", help="print the script as curl lines, and do nothing"
    )


@told
def run(call: Call) -> int:
    """Replay; the exit code is 1 where an answer is another one."""
    options = call.options
    script = read_script(options.script)
    if options.shell:
        from kubetrio.harness.shell import shell

        sys.stdout.write(shell(script))
        return 0
    if options.kubeconfig is not None and options.seed is not None:
        options.parser.error("--seed is for a new server, not for that of --kubeconfig")
    again = _replayed(options, script)
    if options.write is not None:
        again.save(options.write)
    return _report(script, again, exact=_exact(options))


def _exact(options: argparse.Namespace) -> bool:
    return not options.alike and options.kubeconfig is None and options.seed is None


def _replayed(options: argparse.Namespace, script: Script) -> Script:
    """The script with the answers of now.

    Raises:
        Failure: the server cannot be made as the script says.
    """
    from kubetrio.harness.offline import offline
    from kubetrio.harness.session import replayed
    from kubetrio.harness.setup import SetupError
    from kubetrio.server import StartError

    if options.kubeconfig is not None:
        return trio.run(partial(_live, options.kubeconfig, script))
    refuse_flags(options.script, script)
    if options.seed is not None:
        script = script.seeded(options.seed)
    try:
        with offline():
            return replayed(script)
    except (SetupError, StartError) as error:
        raise Failure(f"{options.script}: {error}") from error


async def _live(kubeconfig: Path, script: Script) -> Script:
    from kubetrio.harness.live import live
    from kubetrio.harness.session import perform

    async with live(kubeconfig) as player:
        return await perform(script, player)


def _report(script: Script, again: Script, *, exact: bool) -> int:
    """Print a line for each step and what differs; return the exit code."""
    from kubetrio.harness.comparing import diff

    paint = painted(sys.stdout)
    recorded = any(step.answer is not None for step in script.steps)
    by_step: dict[int, list[Difference]] = {}
    for one in diff(script, again, exact=exact) if recorded else ():
        by_step.setdefault(one.step, []).append(one)
    width = len(str(len(again.steps)))
    for number, step in enumerate(again.steps, 1):
        differs = by_step.get(number, [])
        line = printable(f"{number:>{width}}  {_shown(step)}")
        print(paint(line, RED if differs else GREEN))
        for one in differs[:SHOWN]:
            print(f"{'':{width}}    {printable(one.text)}")
        if len(differs) > SHOWN:
            print(f"{'':{width}}    and {len(differs) - SHOWN} more")
    if not recorded:
        print("the script has no recorded answers: nothing was compared")
    elif by_step:
        print(f"{len(by_step)} of {len(again.steps)} steps were answered otherwise")
        return 1
    return 0


def printable(text: str) -> str:
    """A text whose control characters, which a terminal would act on, are escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _shown(step: Step) -> str:
    """A step and how it ended, in a line."""
    from kubetrio.harness.script import Inject, Move, Request, Watch

    match step:
        case Request():
            what = f"{step.method} {step.path}"
        case Watch():
            what = f"watch {step.path}"
        case Move():
            what = f"move {step.seconds:g}s"
        case Inject():
            what = f"fault {'clear' if step.rule is None else step.rule.fault}"
        case _:
            what = step.do
    reply = step.answer
    if reply is None:
        return what
    ended = [str(reply.status)] if reply.status else []
    if isinstance(step, Watch) and reply.status == 200:
        ended.append(f"{len(reply.events)} events")
    return f"{what}  {', '.join([*ended, *([reply.error] if reply.error else [])])}"
