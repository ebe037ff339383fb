"""Extracts recorded validation answers of a kube-apiserver into ``cases/``.

    python make_cases.py DIRECTORY_OF_RECORDED_SCENARIOS

A case is what was sent (for a merge patch: the object before it too) and the causes that came
back.  Causes about metadata and about allocation are left out: other modules make them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GROUPS = {"": "core", "apps": "apps", "batch": "batch", "autoscaling": "autoscaling"}
# admission puts the default tolerations back before anything is checked
ADMITTED = frozenset({"validation-core-pods/update-remove-toleration"})
ELSEWHERE = (
    "failed to allocate",
    "not configured for dual-stack",
    "when multiple IP families",
    "provided port is",
    "denied request",
)
_path = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/\$\{ns2?\})?/(?P<resource>[a-z]+)(?:/(?P<name>[^/?]+))?(?:/(?P<sub>[a-z]+))?"
    r"(?:\?.*)?$"
)


def _plain(value: Any) -> Any:
    """The value with the recorder's symbols replaced by texts that can be read."""
    text = json.dumps(value)
    for symbol, plain in (("<uniq>", "u"), ("${uniq}", "u"), ("${ns}", "ns"), ("<ts>", _TIME)):
        text = text.replace(symbol, plain)
    return json.loads(text)


_TIME = "2024-01-01T00:00:00Z"


def _is_ours(cause: dict[str, str]) -> bool:
    field = cause.get("field", "")
    own = ("metadata.annotations[", "metadata.taints", "metadata.conditions")
    return not field.startswith("metadata.") or field.startswith(own)


def _causes(body: dict[str, Any]) -> list[list[str]]:
    listed = (body.get("details") or {}).get("causes") or ()
    return [
        [cause["reason"], cause["field"], cause["message"]]
        for cause in _plain(list(listed))
        if _is_ours(cause)
    ]


def _cases(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    stored: dict[str, Any] = {}
    out = []
    for step in scenario["steps"]:
        match = _path.match(step.get("path", ""))
        expect = step.get("expect") or {}
        status, answer, body = expect.get("status"), expect.get("body"), step.get("body")
        if not match or status not in (200, 201, 422) or not isinstance(body, dict):
            continue
        if status == 422 and not isinstance(answer, dict):
            continue  # only the code was recorded
        group = "" if match["core"] else match["group"]
        if group not in GROUPS or any(text in json.dumps(answer) for text in ELSEWHERE):
            continue
        url = step["path"].partition("?")[0]
        case: dict[str, Any] = {
            "id": f"{scenario['name']}/{step['id']}",
            "group": group,
            "version": match["core"] or match["version"],
            "resource": match["resource"],
        }
        media = (step.get("headers") or {}).get("Content-Type", "")
        if step["method"] == "POST" and not match["name"]:
            case["new"] = _plain(body)
            name = (body.get("metadata") or {}).get("name") or ""
            url = f"{url}/{name}"
        elif step["method"] == "PATCH" and media.startswith("application/merge") and url in stored:
            case["old"] = _plain(stored[url])
            case["patch"] = _plain(body)
            case["subresource"] = match["sub"] or ""
            if "kind" in body:
                continue
        else:
            continue
        if status == 422 and isinstance(answer, dict):
            case["causes"] = _causes(answer)
            recorded = (answer.get("details") or {}).get("causes") or ()
            if recorded and not case["causes"]:
                continue  # nothing of it is ours
        else:
            case["causes"] = []
            if "dryRun" not in step["path"]:
                stored[url] = answer if isinstance(answer, dict) else case.get("new", body)
        if case["id"] not in ADMITTED:
            out.append(case)
    return out


def main(directory: Path) -> None:
    """Write the cases of every group."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS.values()}
    for path in sorted(directory.glob("validation-*.json")):
        for case in _cases(json.loads(path.read_text())):
            found[GROUPS[case["group"]]].append(case)
    for name, cases in found.items():
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        (HERE / "cases" / f"{name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
