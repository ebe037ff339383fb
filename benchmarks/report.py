"""The table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.results import Cell, Result

GAP = "  "


def number(value: float | None, suffix: str = "") -> str:
    """A number of three or four digits that matter; a dash for none."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}{suffix}"
    if abs(value) >= 10:
        return f"{value:.1f}{suffix}"
    return f"{value:.2f}{suffix}"


def header(facts: dict[str, str], scale: str, rounds: int) -> Iterator[str]:
    """Lines about the machine and the run."""
    yield f"kubetrio benchmarks, median of {rounds} rounds, {scale}"
    yield ""
    width = max(map(len, facts))
    for name, value in facts.items():
        yield f"{name:<{width}}{GAP}{value}"
    yield ""


def table(results: Sequence[Result], labels: Sequence[str]) -> Iterator[str]:
    """Aligned lines: one a row and server, the note of each behind."""
    compared = len(labels) > 1
    head = ["row", "server", "value", "unit", "p50 ms", "p99 ms", "yardstick", "ratio", "target"]
    head += ["met"] + ([f"by {labels[1]}"] if compared else [])
    lines = []
    notes = []
    for result in results:
        for label in labels:
            lines.append(_line(result, label, labels))
            notes.append(result.cells[label].note)
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    left = {0, 1, 3}
    for line, note in zip([head, *lines], ["note", *notes], strict=True):
        cells = [
            f"{text:<{width}}" if column in left else f"{text:>{width}}"
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield (GAP.join(cells) + GAP + note).rstrip()
        if line is head:
            yield "-" * (sum(widths) + len(GAP) * len(widths) + 4)
    yield ""
    for result in results:
        aside = f" (yardstick: {result.row.yardstick})" if result.row.yardstick else ""
        yield f"{result.row.name}: {result.row.title}{aside}"


def _ratios(cell: Cell) -> str:
    """The ratio, and those of the latency where the row compares it."""
    latency = {name: cell.median(f"{name}_ratio") for name in ("p50", "p99")}
    found = [f"{name} {number(by, 'x')}" for name, by in latency.items() if by is not None]
    return ", ".join([number(cell.median("ratio"), "x"), *found])


def _line(result: Result, label: str, labels: Sequence[str]) -> list[str]:
    row, cell = result.row, result.cells[label]
    value = cell.median("value")
    yardstick = number(cell.median("yardstick"))
    met = result.met(label)
    verdict = "FAIL" if cell.failed else {None: "", True: "yes", False: "NO"}[met]
    line = [
        row.name if label == labels[0] else "",
        label,
        "failed" if cell.failed else "n/a" if value is None else number(value),
        row.unit,
        number(cell.median("p50_ms")),
        number(cell.median("p99_ms")),
        yardstick,
        _ratios(cell),
        row.goal,
        verdict,
    ]
    if len(labels) > 1:
        other = result.cells[labels[1]].median("value")
        relative = value / other if value is not None and other else None
        line.append(number(relative, "x") if label == labels[0] else "")
    return line
