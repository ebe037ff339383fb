"""`python -m benchmarks`: measure kubetrio, and any other server beside it."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import (
    facts,
    process,
    report,
    results,
    rows_audit,
    rows_custom,
    rows_edge,
    rows_elephant,
    rows_etcd,
    rows_filters,
    rows_fixture,
    rows_flash,
    rows_growth,
    rows_informers,
    rows_inside,
    rows_isolation,
    rows_list,
    rows_overhead,
    rows_overload,
    rows_rbac,
    rows_request,
    rows_single,
    rows_start,
    rows_stream,
    rows_ui,
    rows_watch,
    rows_write,
)
from benchmarks.endpoint import Endpoint
from benchmarks.rows import FULL, QUICK, Lab
from benchmarks.subjects import Kubetrio, Remote, Subject
from benchmarks.yardsticks import Yardsticks

ROWS = (
    rows_start.ROWS
    + rows_request.ROWS
    + rows_write.ROWS
    + rows_list.ROWS
    + rows_stream.ROWS
    + rows_watch.ROWS
    + rows_filters.ROWS
    + rows_informers.ROWS
    + rows_isolation.ROWS
    + rows_elephant.ROWS
    + rows_overhead.ROWS
    + rows_audit.ROWS
    + rows_growth.ROWS
    + rows_overload.ROWS
    + rows_rbac.ROWS
    + rows_custom.ROWS
    + rows_inside.ROWS
    + rows_edge.ROWS
    + rows_flash.ROWS
    + rows_fixture.ROWS
    + rows_single.ROWS
    + rows_ui.ROWS
    + rows_etcd.ROWS
)
NO_SUBJECT = "generator"  # measures the generator, whichever server is asked for


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument("--list", action="store_true", help="print the rows and end")
    made.add_argument("--only", metavar="ROW,...", help="measure these rows")
    made.add_argument("--rounds", type=int, help="rounds of each row (3; with --quick 1)")
    made.add_argument("--quick", action="store_true", help="small and short, to see that it runs")
    made.add_argument("--against", metavar="URL", help="measure this server too, beside kubetrio")
    made.add_argument("--token", default=os.environ.get("BENCH_TOKEN", ""), help="its bearer token")
    made.add_argument("--ca", metavar="FILE", default="", help="its certificate authority")
    made.add_argument(
        "--insecure-skip-tls-verify", action="store_true", help="accept any certificate of it"
    )
    made.add_argument(
        "--against-pid", metavar="PID,...", default="", help="its processes, if they run here"
    )
    made.add_argument("--only-against", action="store_true", help="do not measure kubetrio")
    made.add_argument(
        "--server-flag", action="append", default=[], metavar="FLAG", help="for kubetrio; repeat"
    )
    made.add_argument("--work-dir", type=Path, help="where data directories go (a temporary one)")
    made.add_argument(
        "--prepared", type=Path, metavar="DIR", help="keep large data directories there for later"
    )
    made.add_argument(
        "--single-file",
        type=lambda name: Path(name).absolute(),
        metavar="FILE",
        default=os.environ.get("KUBETRIO_SINGLE_FILE") or None,
        help="the executable that singlefile/build.py made, for rows about it",
    )
    made.add_argument(
        "--etcd", metavar="URL", default="", help="of rows on etcd (one of their own for each)"
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write all rounds there")
    return made


def subjects(options: argparse.Namespace, folder: Path) -> list[Subject]:
    """The servers to measure.

    Raises:
        SystemExit: options that do not fit together.
    """
    found: list[Subject] = []
    if not options.only_against:
        found.append(
            Kubetrio(
                folder, options.server_flag, options.prepared, options.single_file, options.etcd
            )
        )
    if options.against:
        url = urlsplit(options.against)
        if url.scheme != "https" or not url.hostname:
            raise SystemExit("--against needs an https:// URL")
        endpoint = Endpoint(
            host=url.hostname,
            port=url.port or 443,
            token=options.token,
            ca_file=options.ca,
            verify=not options.insecure_skip_tls_verify,
        )
        pids = [int(pid) for pid in options.against_pid.split(",") if pid]
        found.append(Remote(endpoint, pids))
    if not found:
        raise SystemExit("--only-against needs --against")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 0 when every row gave a number or does not apply, 1 when one failed."""
    options = parser().parse_args(arguments)
    if options.list:
        width = max(len(row.name) for row in ROWS)
        for row in ROWS:
            print(f"{row.name:<{width}}  {row.title}" + (f"  [{row.goal}]" if row.goal else ""))
        return 0
    names = options.only.split(",") if options.only else [row.name for row in ROWS]
    unknown = set(names) - {row.name for row in ROWS}
    if unknown:
        raise SystemExit(f"no such row: {', '.join(sorted(unknown))} (see --list)")
    chosen = [row for row in ROWS if row.name in names]
    rounds = options.rounds or (1 if options.quick else 3)
    plan = QUICK if options.quick else FULL
    process.raise_file_limit()
    with contextlib.ExitStack() as stack:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="kubetrio-bench-", dir=options.work_dir)
            )
        )
        about = facts.gather(folder)
        yardsticks = Yardsticks(folder, seconds=plan.seconds, warmup=plan.warmup)
        stack.callback(yardsticks.close)
        lab = Lab(plan=plan, yardsticks=yardsticks)
        servers = subjects(options, folder)
        labels = [server.label for server in servers]
        measured = []
        for place, row in enumerate(chosen, 1):
            on = servers[:1] if row.name == NO_SUBJECT else servers
            one = results.measure(lab, row, on, rounds, f"{place}/{len(chosen)}")
            for label in labels:
                one.cells.setdefault(label, results.Cell())
            measured.append(one)
    results.progress("")
    scale = ("quick scale: " if options.quick else "full scale: ") + ", ".join(
        f"{name} {value}" for name, value in dataclasses.asdict(plan).items()
    )
    for line in report.header(about, scale, rounds):
        print(line)
    for line in report.table(measured, labels):
        print(line)
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "scale": scale,
                    "rounds": rounds,
                    "facts": about,
                    "rows": [one.as_json() for one in measured],
                },
                indent=1,
            )
        )
    return int(any(cell.failed for one in measured for cell in one.cells.values()))


if __name__ == "__main__":
    sys.exit(main())
