"""`python -m benchmarks.overload --seconds 3600`: all attacks at once, for as long as is asked."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import facts, process, rows_overload
from benchmarks.errors import BenchError
from benchmarks.overload import scene
from benchmarks.subjects import Kubetrio


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.overload", description=__doc__)
    made.add_argument("--seconds", type=float, default=60.0, help="length of the attack (60)")
    made.add_argument("--calm", type=float, default=10.0, help="seconds before it (10)")
    made.add_argument("--back", type=float, default=60.0, help="seconds for memory to return (60)")
    made.add_argument("--scale", type=float, default=1.0, help="share of the connections (1)")
    made.add_argument("--work-dir", type=Path, help="where the data directory goes")
    made.add_argument("--server-flag", action="append", default=[], metavar="FLAG")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack; 0 when nothing was lost and every target is met, 1 otherwise."""
    options = parser().parse_args(arguments)
    process.raise_file_limit()
    script = rows_overload.mixed(options.calm, options.seconds, options.back, options.scale)
    with tempfile.TemporaryDirectory(prefix="kubetrio-bench-", dir=options.work_dir) as folder:
        subject = Kubetrio(Path(folder), options.server_flag)
        try:
            with rows_overload.mixed_server(subject) as run:
                outcome = scene.play(run, script)
            outcome = dataclasses.replace(outcome, facts=facts.gather(Path(folder)))
        except (BenchError, OSError) as error:
            print(f"failed: {error}")
            return 1
    for part in rows_overload.note(outcome).split("; "):
        print(part)
    problems = outcome.kept.problems if outcome.kept else ()
    for problem in problems:
        print(f"lost: {problem}")
    if options.json:
        options.json.write_text(json.dumps(dataclasses.asdict(outcome), indent=1))
    missed = rows_overload.missed(outcome)
    for target in missed:
        print(f"missed: {target}")
    return int(bool(problems or missed))


if __name__ == "__main__":
    sys.exit(main())
