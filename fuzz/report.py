"""One page about runs: counts, seeds, versions, findings, memory and latency over time.

python -m fuzz.report REPORT.html FILE...

The files are what ``python -m fuzz --json``, ``python -m fuzz.planted --json``,
``python fuzz/determinism.py --json``, ``python -m benchmarks.overload --json``,
``python -m benchmarks.soak --json`` and ``python -m benchmarks --json`` write, in any order and
number.  The page needs no other file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import kubetrio
from fuzz.plots import plot

Json = dict[str, Any]
Rows = Iterable[Sequence[object]]

OF_THE_DAY = frozenset({"fsync", "load", "generator"})
"""Facts of a run of benchmarks that say little without its table."""

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
th,td{text-align:left;padding:.2rem .6rem .2rem 0;border-bottom:1px solid #ddd;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
figure{margin:1rem 0}figcaption{font-weight:600}
svg{width:100%;height:auto;font-size:11px}
svg text{fill:#444}
.axis{fill:none;stroke:#999}
polyline{fill:none;stroke-width:1.2}
polyline.line0{stroke:#0b5fa5}text.line0{fill:#0b5fa5}
polyline.line1{stroke:#b3400e}text.line1{fill:#b3400e}
polyline.line2{stroke:#2a7d3f}text.line2{fill:#2a7d3f}
polyline.line3{stroke:#7b3fa0}text.line3{fill:#7b3fa0}
pre{white-space:pre-wrap;background:#f5f5f5;padding:.5rem}
"""


class ReportError(Exception):
    """A file cannot be reported; one line."""


def table(head: Sequence[str], rows: Rows) -> str:
    """A table; numbers stand to the right."""

    def cell(tag: str, value: object) -> str:
        if isinstance(value, float):
            return f'<{tag} class="n">{value:,.1f}</{tag}>'
        if isinstance(value, int):
            return f'<{tag} class="n">{value:,}</{tag}>'
        return f"<{tag}>{escape('-' if value is None else str(value))}</{tag}>"

    lines = ["".join(cell("td", value) for value in row) for row in rows]
    top = "".join(cell("th", name) for name in head)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _facts(facts: Mapping[str, object]) -> str:
    told = (f"{name} {value}" for name, value in facts.items() if name not in OF_THE_DAY)
    return "<p>" + escape(", ".join(told)) + "</p>"


def fuzzing(data: Json) -> Iterator[str]:
    """Targets of a run, what they found, and the course of it."""
    ran = data["ran"]
    total, found = sum(one["executions"] for one in ran), [t for one in ran for t in one["found"]]
    yield f"<h2>Fuzzing: {total:,} executions, {len(found):,} findings</h2>"
    yield _facts({**data["facts"], "seed": data["seed"]})
    head = ("target", "rounds", "executions", "CPU s", "found", "what holds")
    yield table(
        head,
        (
            (one["target"], one["rounds"], one["executions"], one["cpu_s"], len(one["found"]),
             one["invariant"])
            for one in ran
        ),
    )  # fmt: skip
    yield "".join(f"<pre>{escape(text)}</pre>" for text in found)
    memory, longest, begin = [], [], 0.0
    for one in ran:
        memory += [(begin + at, mb) for at, mb, _ in one["course"]]
        longest += [(begin + at, 1000 * took) for at, _, took in one["course"]]
        begin = memory[-1][0] if memory else begin
    yield plot("Memory of the process, target by target", "MB", {"resident": memory})
    yield plot("Time of a round", "ms", {"round": longest})


def planted(data: Json) -> Iterator[str]:
    """Bugs that were planted, and what found each."""
    bugs = data["bugs"]
    yield f"<h2>Planted bugs: {sum(bool(one['by']) for one in bugs)} of {len(bugs)} found</h2>"
    yield _facts({**data["facts"], "seed": data["seed"]})
    head = ("bug", "what it does", "found by", "executions", "CPU s")
    yield table(
        head,
        (
            (one["name"], one["what"], one["by"] or "nothing", one["executions"], one["cpu_s"])
            for one in bugs
        ),
    )


def determinism(data: Json) -> Iterator[str]:
    """Scripts that were replayed, and by which interpreters."""
    scripts, steps, differences = data["scripts"], data["steps"], data["differences"]
    yield f"<h2>Determinism: {scripts:,} scripts, {len(differences):,} differences</h2>"
    yield _facts({**data["facts"], "seed": data["seed"]})
    pythons = ", ".join(data["pythons"])
    yield f"<p>{steps:,} steps, each answer compared byte by byte, by Python {escape(pythons)}.</p>"
    yield "".join(f"<pre>{escape(text)}</pre>" for text in differences)


def overload(data: Json) -> Iterator[str]:
    """An attack: what honest users and the server's memory saw of it."""
    yield f"<h2>Overload: {data['attack_s']:,.0f} seconds of attack</h2>"
    yield _facts({**data.get("facts", {}), "CPU": f"{data['cpu']:.0%}"})
    phases = (
        ("GET before", data["calm"]),
        ("GET during", data["attacked"]),
        ("/readyz before", data["calm_readyz"]),
        ("/readyz during", data["attacked_readyz"]),
    )
    head = ("requests of an honest user", "sent", "not answered", "p50 ms", "p99 ms", "longest ms")
    names = ("requests", "failed", "p50_ms", "p99_ms", "max_ms")
    yield table(head, ((what, *(phase[name] for name in names)) for what, phase in phases))
    memory = ("memory in MB", *(data[f"{when}_mb"] for when in ("before", "peak", "after")))
    yield table(("", "before", "at most", "after"), (memory, ("files", *data["descriptors"])))
    if kept := data.get("kept"):
        problems = kept["problems"]
        text = f"{kept['seen']:,} writes seen once by a watch, {len(problems)} problems."
        yield f"<p>{text}</p>" + "".join(f"<pre>{escape(one)}</pre>" for one in problems)
    yield table(("what attackers did", "times"), sorted(data["tally"].items()))
    yield plot("Resident memory", "MB", {"server": data.get("memory", ())})
    longest = {
        "GET": data["attacked"].get("course", ()),
        "/readyz": data["attacked_readyz"].get("course", ()),
    }
    yield plot("Longest request of a second", "ms", longest)


def soak(data: Json) -> Iterator[str]:
    """A long load: whether memory stayed within its bound."""
    intervals, over = data["intervals"], data["over"]
    seconds = max((one["ended_s"] for one in intervals), default=0.0)
    yield f"<h2>Soak: {seconds:,.0f} seconds, {len(over):,} times over a bound</h2>"
    yield _facts({**data["facts"], "seed": data["seed"]})
    lists, writes = (sum(one[name] for one in intervals) for name in ("lists", "writes"))
    most = max((one["peak_mb"] for one in intervals), default=0.0)
    head = ("lists", "writes", "MB at the start", "MB at most", "MB allowed")
    yield table(head, [(lists, writes, data["begun_mb"], most, data["allowed_mb"])])
    yield "".join(f"<pre>{escape(text)}</pre>" for text in over)
    peaks, after = (
        [(one["ended_s"], one[name]) for one in intervals] for name in ("peak_mb", "memory_mb")
    )
    yield plot("Memory of the server", "MB", {"at most": peaks, "behind an interval": after})


def benchmarks(data: Json) -> Iterator[str]:
    """Rows of benchmarks, by server."""
    yield f"<h2>Benchmarks: {len(data['rows'])} rows</h2>"
    yield _facts(data["facts"]) + f"<p>{escape(data['scale'])}</p>"
    rows = []
    for row in data["rows"]:
        for label, cell in row["servers"].items():
            median = cell["median"]
            met = {True: "yes", False: "no", None: ""}[row["met"][label]]
            value, p50_ms, p99_ms = (median[name] for name in ("value", "p50_ms", "p99_ms"))
            shown = (value, row["unit"], p50_ms, p99_ms, met)
            rows.append((row["name"], row["title"], label, *shown))
    head = ("row", "what", "server", "value", "unit", "p50 ms", "p99 ms", "target met")
    yield table(head, rows)


SECTIONS: dict[str, Callable[[Json], Iterator[str]]] = {
    "fuzz": fuzzing,
    "planted": planted,
    "determinism": determinism,
    "overload": overload,
    "soak": soak,
    "rows": benchmarks,
}


def kind_of(data: object) -> str:
    """What a file is about: a key of `SECTIONS`, or empty."""
    if not isinstance(data, dict):
        return ""
    if data.get("what") in SECTIONS:
        return str(data["what"])
    return "rows" if "rows" in data else "overload" if "attacked_readyz" in data else ""


def page(runs: Sequence[Json], version: str = kubetrio.__version__) -> str:
    """The page about runs.

    Args:
        runs: what the files have.
        version: of what ran.

    Raises:
        ReportError: one is of no kind that is known.
    """
    kinds = list(SECTIONS)
    if not all(map(kind_of, runs)):
        raise ReportError("not a run: a file that --json wrote is needed")
    ordered = sorted(runs, key=lambda data: kinds.index(kind_of(data)))
    parts = [part for data in ordered for part in SECTIONS[kind_of(data)](data)]
    title = f"kubetrio {escape(version)}: what was run"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        + "\n".join(filter(None, parts))
        + "\n</body></html>\n"
    )


def read(path: Path) -> Json:
    """What a file has.

    Raises:
        ReportError: it is no run.
    """
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: {error}") from error
    if not kind_of(data):
        raise ReportError(f"{path}: not a run: a file that --json wrote is needed")
    found: Json = data
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.report", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("report", type=Path, metavar="REPORT.html")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        text = page([read(path) for path in options.files])
    except ReportError as error:
        print(error, file=sys.stderr)
        return 1
    options.report.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
