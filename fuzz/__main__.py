"""All targets of the fuzzer by one command.

python -m fuzz --list
python -m fuzz api json --seconds 60 --seed 1
python -m fuzz --all --seconds 7200

Each target gets an equal share of the seconds.  What is found is told with the seed of its round,
which repeats it: ``python -m fuzz TARGET --rounds 1 --seed SEED``.  At the end come the executions
of each target.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from time import process_time  # noqa: TID251  (CPU time that is told)

from fuzz.alltargets import TARGETS
from fuzz.rounds import Target
from kubetrio.env import monotonic


def play(target: Target, seed: int, seconds: float, rounds: int = 0) -> tuple[int, list[str]]:
    """Play rounds of a target; return the number of executions, and what was found.

    Args:
        target: which.
        seed: of the first round.
        seconds: how long, where no number of rounds is given.
        rounds: how many; 0 for as many as there is time for.
    """
    end, executions, found, number = monotonic() + seconds, 0, [], 0
    while number < rounds or (not rounds and monotonic() < end):
        told = target.play(seed + number)
        executions += told.executions
        for problem in told.problems[:5]:
            found.append(f"{target.name} --rounds 1 --seed {seed + number}: {problem[:2000]}")
            print(found[-1], flush=True)
        number += 1
    return executions, found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--list", action="store_true", help="names and invariants")
    parser.add_argument("--all", action="store_true", help="every target")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all targets together")
    parser.add_argument("--rounds", type=int, default=0, help="of each target, without --seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.list:
        for target in TARGETS.values():
            print(f"{target.name:16} {target.invariant}")
        return 0
    names = list(TARGETS) if options.all else options.targets
    if not names:
        parser.error("name targets, or --all")
    logging.disable(logging.CRITICAL)
    found, rows = [], []
    for name in names:
        begin = process_time()
        share = options.seconds / len(names)
        executions, some = play(TARGETS[name], options.seed, share, options.rounds)
        found += some
        used = process_time() - begin
        rows.append(f"{name:16} {executions:10d} executions {used:9.1f} CPU s {len(some):4d} found")
        print(rows[-1], flush=True)
    logging.disable(logging.NOTSET)
    print("\n" + "\n".join([*rows, f"seed {options.seed}, {len(found)} findings", *found]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
