"""Metrics: the list that upstream generates from its sources, and what ``/metrics`` shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from facts.documents import Json

DOCUMENTATION = "test/instrumentation/documentation/documentation-list.yaml"
PREFIXES = ("apiserver_", "etcd_", "watch_")
"""Beginnings of names of the metrics that are about serving the API and storing objects."""
FLOW_CONTROL = "apiserver_flowcontrol_"

HELP = re.compile(r"^# HELP (\S+) (?:\[(\w+)\])?(?:.*?\(Deprecated since ([\d.]+)\))?")
TYPE = re.compile(r"^# TYPE (\S+) (\w+)")
SAMPLE = re.compile(r"^(\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
OF_BUCKETS = frozenset({"le", "quantile"})


def _number(value: Any) -> float:
    """A bucket's bound; YAML 1.1 takes ``5e-07`` for a string."""
    number = float(value)
    return int(number) if number.is_integer() else number


def published(source: Path) -> dict[str, Json]:
    """Metrics of a Kubernetes tree by name: type, stability, labels, buckets.

    Args:
        source: root of a checkout.
    """
    text = (source / DOCUMENTATION).read_text(encoding="utf-8")
    return rows(yaml.safe_load(text))


def rows(entries: list[Json]) -> dict[str, Json]:
    """Rows of the entries of the list whose names begin as ours do, by name."""
    found: dict[str, Json] = {}
    for entry in entries:
        parts = (entry.get("namespace"), entry.get("subsystem"), entry["name"])
        name = "_".join(part for part in parts if part)
        if not name.startswith(PREFIXES):
            continue
        row = {
            "type": entry["type"].lower(),
            "stability": entry["stabilityLevel"],
            "labels": entry.get("labels", []),
        }
        if "buckets" in entry:
            row["buckets"] = [_number(bound) for bound in entry["buckets"]]
        if "constLabels" in entry:
            row["constLabels"] = entry["constLabels"]
        if "deprecatedVersion" in entry:
            row["deprecated"] = entry["deprecatedVersion"]
        found[name] = row
    return dict(sorted(found.items()))


def observed(text: str) -> dict[str, Json]:
    """Metrics of a running server by name: type, stability, labels, buckets.

    Args:
        text: body of ``/metrics``.
    """
    found: dict[str, Json] = {}
    labels: dict[str, set[str]] = {}
    bounds: dict[str, set[float]] = {}
    for line in text.splitlines():
        if match := HELP.match(line):
            found[match[1]] = {"type": "", "stability": match[2] or "", "labels": []}
            if match[3]:
                found[match[1]]["deprecated"] = match[3]
        elif match := TYPE.match(line):
            found.setdefault(match[1], {})["type"] = match[2]
        elif match := SAMPLE.match(line):
            name = match[1] if match[1] in found else line.partition("{")[0]
            pairs = dict(LABEL.findall(match[2]))
            labels.setdefault(name, set()).update(pairs.keys() - OF_BUCKETS)
            if pairs.get("le", "+Inf") != "+Inf":
                bounds.setdefault(name, set()).add(_number(pairs["le"]))
    for name, row in found.items():
        row["labels"] = sorted(labels.get(name, ()))
        if bounds.get(name):
            row["buckets"] = sorted(bounds[name])
    return {name: found[name] for name in sorted(found) if name.startswith(PREFIXES)}


def joined(listed: Mapping[str, Json], seen: Mapping[str, Json]) -> dict[str, Json]:
    """What upstream lists, with what a server showed.

    Args:
        listed: rows of the list.
        seen: rows of a running server.
    """
    found: dict[str, Json] = {}
    for name in sorted({*listed, *seen}):
        live = seen.get(name, {})
        row = dict(listed.get(name) or live)
        if "buckets" not in row and "buckets" in live:
            row["buckets"] = live["buckets"]
        if live and live["type"] != row["type"]:
            row["observedType"] = live["type"]
        if name not in listed:
            row["undocumented"] = True
        row["observed"] = bool(live)
        if name.startswith(FLOW_CONTROL):
            row["flowControl"] = True
        found[name] = row
    return found
