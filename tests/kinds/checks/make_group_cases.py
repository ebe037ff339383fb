"""Make ``cases/groups/*.json`` from a folder of recorded scenarios.

    python tests/kinds/checks/make_group_cases.py FOLDER

A case is one write of a kind outside the core groups: what was sent, what was stored before, and
the causes with which kube-apiserver refused it (none when it did not).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubetrio.machinery.jsonpatch import apply_json_patch, apply_merge_patch

Json = dict[str, Any]

GROUPS = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
}
_PATH = re.compile(
    r"/apis/(?P<group>[^/]+)/(?P<version>[^/]+)(?:/namespaces/(?P<ns>[^/?]+))?/(?P<plural>[^/?]+)"
    r"(?:/(?P<name>[^/?]+))?(?:/(?P<sub>[^/?]+))?(?:\?.*)?$"
)
_PLACEHOLDERS = {"${uniq}": "uq1", "<uniq>": "uq1", "${ns}": "ns1"}


def filled(value: Any) -> Any:
    """A value with the placeholders of a scenario filled in."""
    text = json.dumps(value)
    for name, replacement in _PLACEHOLDERS.items():
        text = text.replace(name, replacement)
    text = re.sub(r"<ts(?:\.6)?>", "2024-01-01T00:00:00Z", text)
    return json.loads(text)


def written(step: Json, old: Json | None) -> Json | None:
    """The object that a step wants to be stored, None when this script cannot tell."""
    body, kind = step.get("body"), (step.get("headers") or {}).get("Content-Type") or ""
    if step["method"] in ("POST", "PUT"):
        return body if isinstance(body, dict) else None
    if old is None or "apply" in kind or "strategic" in kind:
        return None
    if isinstance(body, list):
        patched: Json = apply_json_patch(old, body)
        return patched
    return apply_merge_patch(old, body)


def answered(new: Json, body: Any) -> Json:
    """The whole object of an answer of which the recording may hold some members only."""
    if isinstance(body, dict) and "metadata" in body:
        return body
    out: Json = json.loads(json.dumps(new))
    for pointer, value in (body or {}).items():
        *parents, name = pointer.strip("/").split("/")
        holder = out
        for parent in parents:
            holder = holder.setdefault(parent, {})
        if value is not None:
            holder[name] = value
    return out


def is_stored(step: Json, body: Any) -> bool:
    """Whether an answer is an object as it is stored now."""
    if step["method"] == "DELETE" or not isinstance(body, dict) or "metadata" not in body:
        return False
    kind = body.get("kind") or ""
    return kind != "Status" and not kind.endswith("List")


def cases_of(scenario: Json) -> Iterator[tuple[str, Json]]:
    stored: dict[tuple[str, ...], Json] = {}
    for step in scenario["steps"]:
        if "method" not in step:
            continue
        expect = filled(step.get("expect") or {})
        match = _PATH.match(filled(step.get("path") or ""))
        if match is None or match["group"] not in GROUPS:
            continue
        body = expect.get("body")
        name = match["name"] or (filled(step).get("body") or {}).get("metadata", {}).get("name")
        key = (match["plural"], match["ns"] or "", name or "")
        old = stored.get(key)
        status = expect.get("status", 0)
        if step["method"] in ("POST", "PUT", "PATCH") and (status < 300 or status == 422):
            if step["method"] == "PUT" and old is None:
                continue
            new = written(filled(step), old)
            if status < 300 and new is not None:
                body = answered(new, body)
            if new is not None and (match["sub"] or "") in ("", "status", "approval"):
                causes = (body or {}).get("details", {}).get("causes", []) if status == 422 else []
                yield (
                    match["group"],
                    {
                        "id": f"{scenario['name']}:{step['id']}",
                        "resource": [match["group"], match["version"], match["plural"]],
                        "namespace": match["ns"] or "",
                        "subresource": match["sub"] or "",
                        "old": old if step["method"] != "POST" else None,
                        "new": new,
                        "causes": [[c["reason"], c.get("field", ""), c["message"]] for c in causes],
                    },
                )
        if status < 300 and "dryRun" not in step["path"] and is_stored(step, body):
            stored[key] = body


def main(folder: Path) -> None:
    found: dict[str, list[Json]] = {}
    for path in sorted(folder.glob("*.json")):
        for group, case in cases_of(json.loads(path.read_text())):
            found.setdefault(group, []).append(case)
    target = Path(__file__).with_name("cases") / "groups"
    for group, cases in found.items():
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        name = group.partition(".")[0]
        (target / f"{name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
