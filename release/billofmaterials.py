"""The bill of materials of a bundle, in CycloneDX 1.6 (cyclonedx.org/docs/1.6/json)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

ROOT = "kubetrio"
SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+()-]+| \(.*\))*")
NAMESPACE = uuid.UUID("6b747269-6f00-5000-8000-000000000000")  # "ktrio": of names made here


def purl(part: Mapping[str, Any]) -> str:
    """Return the package URL of a part (purl-spec: PURL-TYPES)."""
    kind = "deb/debian" if part["kind"] == "deb" else part["kind"]
    return f"pkg:{kind}/{quote(part['name'])}@{quote(part['version'], safe='.+-~')}"


def document(parts: Sequence[Mapping[str, Any]], epoch: int) -> dict[str, Any]:
    """Return the document.

    Args:
        parts: as ``singlefile/inventory.py`` lists them.
        epoch: seconds since 1970, of the release.
    """
    by_name = {part["name"]: part for part in parts if part["kind"] == "pypi"}
    (root,) = (part for part in parts if part["name"] == ROOT)
    others = [part for part in parts if part is not root]
    bundled = [purl(part) for part in others if part["kind"] != "pypi"]
    dependencies = []
    for part in (root, *others):
        below = [purl(by_name[name]) for name in part["requires"]]
        row = {"ref": purl(part), "dependsOn": sorted(below + (bundled if part is root else []))}
        dependencies.append(row)
    identity = uuid.uuid5(NAMESPACE, " ".join(sorted(map(purl, parts))))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": _component(root, "application"),
        },
        "components": [_component(part, "library") for part in others],
        "dependencies": dependencies,
    }


def _component(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    licences = part["licences"]
    told: list[dict[str, Any]]
    if len(licences) == 1 and SPDX.fullmatch(licences[0]) and part["kind"] != "deb":
        told = [{"expression": licences[0]}]
    else:
        told = [{"license": {"name": name}} for name in licences]
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": purl(part),
        "name": part["name"],
        "version": part["version"],
        "purl": purl(part),
    }
    if told:
        component["licenses"] = told
    if part["files"]:
        component["properties"] = [
            {"name": "kubetrio:file", "value": name} for name in part["files"]
        ]
    return component
