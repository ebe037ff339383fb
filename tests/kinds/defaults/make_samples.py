"""Write ``samples.json`` from recorded creations.

Usage: ``python make_samples.py DEFAULTS_JSON``, a file of records
``label -> {path, input, added, changed, removed, byAdmission}`` under ``defaults``.

Left out is what neither defaults nor preparation decide:

- identity, generation and managed fields of metadata, and review answers;
- what admission plugins add: tolerations, priority, service account and its volume of pods,
  finalizers of volumes and claims, the taint of new nodes;
- allocated addresses and ports of services.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OTHERS = re.compile(
    r"/metadata/(generation|namespace|creationTimestamp|managedFields|finalizers)(/.*)?"
    r"|/spec/(tolerations/\d+/.*|priority|preemptionPolicy|serviceAccount(Name)?)"
    r"|/spec/volumes|/spec/containers/\d+/volumeMounts/\d+/.*"
    r"|/spec/(clusterIP|clusterIPs|healthCheckNodePort)|/spec/ports/\d+/nodePort"
)
REVIEWS = re.compile(r".*Review")


def expected(label: str, record: dict[str, Any]) -> dict[str, Any]:
    """One record without the work of others."""
    kind = label.split("/")[0]
    added = {
        pointer: value
        for pointer, value in record["added"].items()
        if not OTHERS.fullmatch(pointer) or (pointer == "/spec/clusterIPs" and value == ["None"])
    }
    removed = list(record.get("removed", ()))
    if REVIEWS.fullmatch(kind):
        added = {p: v for p, v in added.items() if not p.startswith(("/status", "/metadata"))}
        removed = []
    if kind == "Node":
        taints = len(record["input"].get("spec", {}).get("taints", ()))
        added = {p: v for p, v in added.items() if not p.startswith(f"/spec/taints/{taints}/")}
        if "spec" not in record["input"]:
            added["/spec"] = {}
    return {
        "path": record["path"],
        "input": record["input"],
        "added": added,
        "changed": {pointer: pair[1] for pointer, pair in record.get("changed", {}).items()},
        "removed": removed,
    }


def main() -> None:
    """Write the file beside this script."""
    records = json.loads(Path(sys.argv[1]).read_text())["defaults"]
    lines = [
        f"{json.dumps(label)}: {json.dumps(expected(label, record), separators=(',', ':'))}"
        for label, record in records.items()
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    Path(__file__).with_name("samples.json").write_text(text)


if __name__ == "__main__":
    main()
