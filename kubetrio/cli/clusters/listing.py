"""``kubetrio list``: the clusters there are."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from kubetrio.cli.common import Failure, describe, told
from kubetrio.cli.place import Cluster, PlaceError, existing
from kubetrio.cli.running import Found, State, look
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio list
  kubetrio list -o name
  kubetrio list -o json
"""
HEAD = ("NAME", "STATE", "ADDRESS", "CONTEXT", "DATA")
NOTHING = "-"


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(parser, "List the clusters that kubetrio create has made, running or not.", EXAMPLES)
    parser.add_argument(
        "-o", "--output", choices=("table", "name", "json"), default="table",
        help="form (default: table)",
    )  # fmt: skip


@told
def run(call: Call) -> int:
    """Print them."""
    try:
        clusters = list(existing(os.environ))
    except PlaceError as error:
        raise Failure(str(error)) from error
    form = call.options.output
    if form == "name":
        print("".join(f"{cluster.name}\n" for cluster in clusters), end="")
        return 0
    found = [(cluster, state(cluster)) for cluster in clusters]
    if form == "json":
        print(json.dumps([as_json(*each) for each in found], indent=2))
    elif found:
        print(table([HEAD, *(row(*each) for each in found)]))
    else:
        print("no clusters; kubetrio create NAME makes one")
    return 0


def state(cluster: Cluster) -> Found:
    """How the server of a cluster is.  Blocking, for seconds at most."""
    return look(cluster.data) if cluster.data.is_dir() else Found(state=State.STOPPED)


def row(cluster: Cluster, found: Found) -> tuple[str, ...]:
    """The cells of a cluster."""
    url = found.record.url if found.record else NOTHING
    return (cluster.name, found.state.value, url, cluster.context, os.fspath(cluster.data))


def as_json(cluster: Cluster, found: Found) -> dict[str, object]:
    """An object with what is known; nothing is left out."""
    return {
        "name": cluster.name,
        "state": found.state.value,
        "pid": found.pid or None,
        "address": found.record.url if found.record else None,
        "context": cluster.context,
        "dataDirectory": os.fspath(cluster.data),
        "flags": os.fspath(cluster.flags),
    }


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows in columns, as kubectl prints them."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "   ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip()
        for each in rows
    )
    return "\n".join(lines)
