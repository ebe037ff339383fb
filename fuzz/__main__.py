"""All targets of the fuzzer by one command.

python -m fuzz --list
python -m fuzz api json --seconds 60 --seed 1
python -m fuzz --all --seconds 7200 --json RUN.json --report REPORT.html

Each target gets an equal share of the seconds.  What is found is told with the seed of its round,
which repeats it: ``python -m fuzz TARGET --rounds 1 --seed SEED``.  At the end come the executions
of each target.  ``python -m fuzz.report`` makes one page of several runs.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fuzz import report
from fuzz.alltargets import TARGETS
from fuzz.runs import as_json, play


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--list", action="store_true", help="names and invariants")
    parser.add_argument("--all", action="store_true", help="every target")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all targets together")
    parser.add_argument("--rounds", type=int, default=0, help="of each target, without --seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--report", type=Path, metavar="FILE", help="make a page of the run")
    options = parser.parse_args(arguments)
    if options.list:
        for target in TARGETS.values():
            print(f"{target.name:16} {target.invariant}")
        return 0
    names = list(TARGETS) if options.all else options.targets
    if not names:
        parser.error("name targets, or --all")
    logging.disable(logging.CRITICAL)
    ran = []
    share = options.seconds / len(names)
    for name in names:
        tell = partial(print, flush=True)
        ran.append(play(TARGETS[name], options.seed, share, options.rounds, tell))
        print(ran[-1].line(), flush=True)
        # What is known is written after each target, so that a run that is ended leaves it.
        data = as_json(options.seed, ran)
        if options.json:
            options.json.write_text(json.dumps(data, indent=1))
        if options.report:
            options.report.write_text(report.page([data]))
    logging.disable(logging.NOTSET)
    found = [text for one in ran for text in one.found]
    rows = [one.line() for one in ran]
    print("\n" + "\n".join([*rows, f"seed {options.seed}, {len(found)} findings", *found]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
