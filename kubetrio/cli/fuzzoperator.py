"""``kubetrio fuzz-operator``: run an operator while things go wrong, and tell its mistakes."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

from kubetrio.cli.arguments import duration
from kubetrio.cli.common import Failure, describe, say, told, whole
from kubetrio.cli.progress import RED, Bar, painted
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.harness.operators.outside.hunt import Bounds, Hunt
    from kubetrio.harness.operators.outside.report import Report
    from kubetrio.harness.operators.plans import Plan
    from kubetrio.harness.operators.subjects import Subject

EXAMPLES = """\
  kubetrio fuzz-operator --crd shelf.yaml -- python shelves.py
  kubetrio fuzz-operator --crd crd.yaml --before rbac.yaml --objects samples/ -- bin/manager
  kubetrio fuzz-operator --kind "apps/v1 Deployment" --limit 10m --report out.json -- ./run.sh
"""
NAME = "fuzz-operator"
UNTRIED = 2
RUNS = 100
SUFFIXES = (".yaml", ".yml", ".json")
Object = dict[str, Any]


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Run the command of an operator on new servers in memory, while users make, change and\n"
        "delete its objects and things go wrong: writes are refused (409, 429, 5xx), watches are\n"
        "late, break or expire, lists are stale, and the operator is killed and started again at\n"
        "chosen writes.  What it does wrong by rules that hold for every operator is tried again,\n"
        "told in words, and its plan is made smaller.\n\n"
        "The command gets a server of its own for each run by KUBECONFIG, as administrator; put\n"
        "-- before it.  Switch leader election off: who is killed holds a lease in real time.\n"
        "The operator's time is real: a run takes seconds, and several run at a time.\n\n"
        "Exit code 0: nothing was found; 1: something was; 2: the operator cannot be tried.",
        EXAMPLES,
    )
    _add_subject(parser)
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="NUMBER",
        help="decides what is tried (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=whole, default=RUNS, metavar="NUMBER",
        help=f"so many runs at most, before something is found (default: {RUNS})",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=duration, default=120.0, metavar="DURATION",
        help="begin nothing new after this time, but to make a plan smaller (default: 2m)",
    )  # fmt: skip
    parser.add_argument(
        "--quiet", type=duration, metavar="DURATION",
        help="the operator is at rest when it has asked for nothing new for so long (default: "
        "three times its longest pause on the first walk, 0.25s to 2s)",
    )  # fmt: skip
    parser.add_argument(
        "--patience", type=duration, default=5.0, metavar="DURATION",
        help="time for the operator to come to the right end when nothing goes wrong any more "
        "(default: 5s)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=whole, metavar="NUMBER",
        help="so many runs at a time (default: twice the processors, at most 4)",
    )  # fmt: skip
    parser.add_argument(
        "--plan", metavar="JSON|FILE",
        help="do this plan alone, as a report has it (default: plans are looked for)",
    )  # fmt: skip
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a report in JSON (default: none)"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE",
        help="add what the operator prints to this file (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "program", nargs="*", metavar="COMMAND", help="the operator's command and its arguments"
    )


def _add_subject(parser: flags.Parser) -> None:
    """Add what the operator is for."""
    parser.add_argument(
        "--crd", type=Path, metavar="FILE",
        help="the CustomResourceDefinition that the operator is for; objects are drawn from its "
        "schema",
    )  # fmt: skip
    parser.add_argument(
        "--kind", metavar="KIND",
        help="the built-in kind that it is for, in place of --crd, such as 'apps/v1 Deployment'",
    )  # fmt: skip
    parser.add_argument(
        "--objects", type=Path, action="append", default=[], metavar="FILE|DIR",
        help="take objects from these manifests in place of drawing them; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--before", type=Path, action="append", default=[], metavar="FILE|DIR",
        help="make the objects of these manifests before the operator starts; may be repeated",
    )  # fmt: skip


@told
def run(call: Call) -> int:
    """Fuzz; see `add` for the exit code."""
    options = call.options
    if (options.crd is None) == (options.kind is None):
        options.parser.error("give one of --crd and --kind")
    if not options.program:
        options.parser.error(
            f"give the operator's command: kubetrio {NAME} --crd FILE -- COMMAND ARGUMENT..."
        )
    if options.jobs == 0:
        options.parser.error("--jobs: at least 1")
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        report = _hunted(options)
    except Failure as error:
        say(str(error))
        return UNTRIED
    report = _repeatable(options, report)
    if options.report is not None:
        options.report.write_text(json.dumps(report.as_dict(), indent=2) + "\n")
    lines = str(report).split("\n")
    if report.mistake is not None:
        lines[0] = painted(sys.stdout)(lines[0], RED)
    print("\n".join(lines))
    return 0 if report.mistake is None else 1


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as by SIGINT, so that no operator goes on."""
    raise KeyboardInterrupt


def _hunted(options: argparse.Namespace) -> Report:
    """Look for what the operator does wrong.

    Raises:
        Failure: it cannot be tried.
    """
    try:
        from kubetrio.harness.operators.outside.hunt import HuntError
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise Failure(f"{NAME} needs hypothesis: pip install hypothesis") from error
    from hypothesis.errors import InvalidArgument

    from kubetrio.harness.operators.outside.crew import CrewError, open_crew, usual_jobs

    if shutil.which(options.program[0]) is None:
        raise Failure(f"there is no program {options.program[0]}")
    jobs = 1 if options.plan is not None else options.jobs or usual_jobs()
    with _no_traces(), Bar("runs") as bar:
        about, plan = _subject(options), _plan(options.plan)

        def tell(text: str) -> None:
            bar.clear()
            say(text)

        try:
            with open_crew(jobs) as crew:
                hunt = _hunt(options, crew, about, tell, bar.to)
                return hunt.run() if plan is None else hunt.repeat(plan)
        except (HuntError, CrewError) as error:
            raise Failure(str(error)) from error
        except InvalidArgument as error:  # a minimum above its maximum
            reason = str(error).split("\n")[0]
            raise Failure(f"no object fits the schema: {reason}; --objects gives some") from error


@contextmanager
def _no_traces() -> Iterator[None]:
    """Keep what hypothesis remembers out of the working directory."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with TemporaryDirectory(prefix="kubetrio-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _hunt(options: argparse.Namespace, crew: Any, about: Subject, tell: Any, progress: Any) -> Hunt:
    """The hunt that flags ask for."""
    from kubetrio.harness.operators.outside.hunt import Bounds, Hunt
    from kubetrio.harness.operators.outside.program import Program
    from kubetrio.harness.operators.outside.trials import Pace, Trial
    from kubetrio.harness.operators.plans import Plan
    from kubetrio.harness.setup import Setup

    trial = Trial(
        program=Program(words=tuple(options.program), log=options.log),
        plan=Plan(),
        pace=Pace(patience_s=options.patience),
        setup=Setup(seed=options.seed),
        before=about.before,
        manifests=tuple(_manifests(options.before)),
    )
    bounds: Bounds = Bounds(runs=options.runs, limit_s=options.limit, quiet_s=options.quiet)
    return Hunt(crew, trial, about, bounds=bounds, seed=options.seed, tell=tell, progress=progress)


def _subject(options: argparse.Namespace) -> Subject:
    """The kind that the operator is for.

    Raises:
        Failure: a file does not say it.
    """
    from hypothesis import strategies as st

    from kubetrio.harness.examples import kinds
    from kubetrio.harness.operators.subjects import subject

    kind: str | Object = options.kind
    if options.crd is None and kind not in kinds():
        raise Failure(f"--kind: there is no {kind!r}; a kind is named as 'apps/v1 Deployment'")
    if options.crd is not None:
        kind_name = "CustomResourceDefinition"
        defined = [one for one in _manifests([options.crd]) if one.get("kind") == kind_name]
        if len(defined) != 1:
            raise Failure(f"{options.crd} has {len(defined)} {kind_name}s, and one is needed")
        kind = defined[0]
    try:
        about = subject(kind)
    except (LookupError, ValueError, TypeError) as error:
        raise Failure(f"{options.crd}: no kind can be made of it: {error}") from error
    objects = _manifests(options.objects)
    if options.objects and not objects:
        raise Failure("--objects: there is no object in them")
    if not objects and not isinstance(kind, str) and options.plan is None:
        objects = list(_states(options, about, kind))
    if objects:
        about = replace(about, bodies=st.sampled_from(objects))
    return about


def _states(options: argparse.Namespace, about: Subject, definition: Object) -> Sequence[Object]:
    """Objects of a definition that have all its properties, and that a server takes.

    Raises:
        Failure: the definition cannot be made.
    """
    from kubetrio.harness.forking import ForkError
    from kubetrio.harness.operators.ground import PrepareError, open_ground
    from kubetrio.harness.operators.walking import covered

    try:
        with open_ground(_idle, before=about.before) as ground:
            done = covered(ground, about, definition, options.seed)
    except (PrepareError, ForkError) as error:
        raise Failure(f"{options.crd}: {error}") from error
    if not done.states:
        say(f"{options.crd}: no object of it is made that a server takes; --objects gives some")
    elif done.missing:
        say(f"no object is made that has {', '.join(done.missing)}; --objects gives such ones")
    return done.states


async def _idle(_: object) -> None:
    import trio

    await trio.sleep_forever()


def _plan(given: str | None) -> Plan | None:
    """The plan of a flag, a text in JSON or a file that has it or a report.

    Raises:
        Failure: it is none.
    """
    if given is None:
        return None
    from kubetrio.harness.operators.plans import Plan
    from kubetrio.harness.script import ScriptError

    try:
        text = given if given.lstrip().startswith("[") else Path(given).read_text()
        data = json.loads(text)
        if isinstance(data, dict):
            data = data.get("plan")
        return Plan.of(data)
    except OSError as error:
        raise Failure(f"--plan: cannot read {given}: {error.strerror}") from error
    except (ScriptError, ValueError) as error:
        raise Failure(f"--plan: {error}") from error


def _manifests(paths: list[Path]) -> list[Object]:
    """The objects of files and directories, in the order of their names.

    Raises:
        Failure: a file cannot be read or has something else.
    """
    import yaml

    objects: list[Object] = []
    for path in paths:
        inside = [one for one in sorted(path.rglob("*")) if one.suffix in SUFFIXES]
        for file in inside if path.is_dir() else [path]:
            try:
                documents = list(yaml.safe_load_all(file.read_text()))
            except OSError as error:
                raise Failure(f"cannot read {file}: {error.strerror}") from error
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise Failure(f"{file}: {' '.join(str(error).split())}") from error
            for one in documents:
                if one is not None and not (isinstance(one, dict) and "kind" in one):
                    raise Failure(f"{file} has something that is no object")
                if one is not None:
                    objects.append({**one, "metadata": one.get("metadata") or {}})
    return objects


def _repeatable(options: argparse.Namespace, report: Report) -> Report:
    """A report that says how its run is repeated."""
    if report.mistake is None:
        return report
    words = ["kubetrio", NAME]
    words += ["--kind", options.kind] if options.crd is None else ["--crd", str(options.crd)]
    for path in options.before:
        words += ["--before", str(path)]
    words += ["--seed", str(options.seed), "--patience", f"{options.patience:g}s"]
    words += ["--quiet", f"{report.pace.quiet_s:.2f}s"]
    words += ["--plan", json.dumps(report.mistake.plan.as_list(), separators=(",", ":"))]
    return replace(report, repeat=shlex.join([*words, "--", *options.program]))
