"""Write ``strategic_cases.json`` from recorded strategic merge patches of one object.

Usage: ``python make_strategic_cases.py PATCH_STRATEGIC_JSON``, a recording with ``steps``: a
create, then patches with the parts of the answer that were looked at.

Each case is one line: the object before, the patch, and the parts after it or the error.  Left out
are members that the server defaults, answers about other objects, and refusals by validation.
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

DEFAULTS = {
    "defaultMode": 420,
    "imagePullPolicy": "Always",
    "protocol": "TCP",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
SERVER_SETS = ("creationTimestamp", "generation", "namespace", "resourceVersion", "uid")
KIND = "PodTemplate"
ABSENT = "<absent>"


def plain(value: Any) -> Any:
    """A value without what the server added."""
    if isinstance(value, dict):
        return {
            key: plain(item)
            for key, item in value.items()
            if key not in DEFAULTS or DEFAULTS[key] != item
        }
    return [plain(item) for item in value] if isinstance(value, list) else value


def put(obj: Any, pointer: str, value: Any) -> None:
    """Set or remove what a pointer names."""
    *path, last = pointer.strip("/").split("/")
    for name in path:
        obj = obj[name]
    if value == ABSENT:
        obj.pop(last, None)
    else:
        obj[last] = value


def main() -> None:
    """Write the file beside this script."""
    first, *steps = json.loads(Path(sys.argv[1]).read_text())["steps"]
    obj = plain(first["expect"]["body"])
    for name in SERVER_SETS:
        obj["metadata"].pop(name, None)
    cases = []
    for step in steps:
        status, body = step["expect"]["status"], step["expect"]["body"]
        if not step["path"].partition("?")[0].endswith(f"/{obj['metadata']['name']}"):
            continue
        if body.get("details", {}).get("kind") == KIND:
            continue
        case = {"id": step["id"], "doc": deepcopy(obj), "patch": step["body"]}
        if status == 200:
            case["parts"] = plain(body)
            for pointer, value in case["parts"].items():
                put(obj, pointer, deepcopy(value))
        else:
            case["error"] = body
        cases.append(case)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    Path(__file__).with_name("strategic_cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
