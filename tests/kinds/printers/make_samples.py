"""Write samples.json: objects of a kube-apiserver 1.36 and the cells it printed for them.

Usage: ``python make_samples.py REFERENCE_DIR``

The reference names the inputs; here they become whole objects: defaults are added, and what the
server chose at random (addresses, node ports) or what passes with time is taken from the cells.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Json = dict[str, Any]

NOW = 1_750_000_000
PLACEHOLDERS = {"<advertise-address>": "192.0.2.10", "<secure-port>": 6443}
# Rows of the reference whose cells are of another object than the one they name, because the
# name was taken or the write was refused.  The cells are kept; here is the object they are of.
OTHER_OBJECTS: dict[str, Json] = {
    "CSIDriver/spec": {"spec": {"attachRequired": True, "volumeLifecycleModes": ["Persistent"]}},
    "Event/minimal": {
        "involvedObject": {"kind": "Pod", "name": "p"},
        "eventTime": None,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "source": {},
    },
    "events.k8s.io Event/minimal": {
        "regarding": {"kind": "Pod", "name": "p"},
        "eventTime": None,
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "deprecatedSource": {},
    },
}
REFUSED_STATUS = {"pod-readiness-gate": {"phase": "Pending"}}
UNITS = {"s": 1, "m": 60}
BY_PATH = {
    "apiservices": ("apiregistration.k8s.io/v1/apiservices", "APIService"),
    "clusterrolebindings": (
        "rbac.authorization.k8s.io/v1/clusterrolebindings",
        "ClusterRoleBinding",
    ),
    "clusterroles": ("rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole"),
    "customresourcedefinitions": (
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        "CustomResourceDefinition",
    ),
    "endpoints": ("/v1/endpoints", "Endpoints"),
    "endpointslices": ("discovery.k8s.io/v1/endpointslices", "EndpointSlice"),
    "flowschemas": ("flowcontrol.apiserver.k8s.io/v1/flowschemas", "FlowSchema"),
    "ipaddresses": ("networking.k8s.io/v1/ipaddresses", "IPAddress"),
    "namespaces": ("/v1/namespaces", "Namespace"),
    "priorityclasses": ("scheduling.k8s.io/v1/priorityclasses", "PriorityClass"),
    "prioritylevelconfigurations": (
        "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        "PriorityLevelConfiguration",
    ),
    "servicecidrs": ("networking.k8s.io/v1/servicecidrs", "ServiceCIDR"),
    "services": ("/v1/services", "Service"),
}


def stamp(seconds_ago: int) -> str:
    """A timestamp in the past of NOW."""
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def put(obj: Any, pointer: str, value: Any) -> None:
    """Set a value by JSON pointer, making what is on the way."""
    *way, last = [
        part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")
    ]
    for part, following in zip(way, [*way, last][1:], strict=True):
        fresh: Any = [] if following.isdigit() else {}
        if isinstance(obj, list):
            if int(part) == len(obj):
                obj.append(fresh)
            obj = obj[int(part)]
        else:
            obj = obj.setdefault(part, fresh)
    if isinstance(obj, list):
        obj[int(last) :] = [value, *obj[int(last) + 1 :]]
    else:
        obj[last] = value


def stored(record: Json) -> Json:
    """The object a server stores for an input of the reference."""
    obj: Json = copy.deepcopy(record["input"])
    for pointer, value in record["added"].items():
        put(obj, pointer, value)
    for pointer, (_, value) in record.get("changed", {}).items():
        put(obj, pointer, value)
    # Secrets are written with stringData and stored with data.
    for pointer in record.get("removed", ()):
        obj.pop(pointer.removeprefix("/"), None)
    return obj


def filled(value: Any) -> Any:
    """Replace placeholders by values."""
    text = json.dumps(value).replace("<past>", stamp(100))
    for placeholder, known in PLACEHOLDERS.items():
        text = text.replace(json.dumps(placeholder), json.dumps(known))
    return json.loads(text)


def filled_cell(cell: Any, created: str) -> Any:
    """Replace placeholders within a cell, which stays a text."""
    if isinstance(cell, str):
        cell = cell.replace("<creationTimestamp>", created)
        for placeholder, known in PLACEHOLDERS.items():
            cell = cell.replace(placeholder, str(known))
    return cell


def age_of(cells: list[Any]) -> int:
    """Seconds of the last cell that is an age."""
    ages = [
        match
        for cell in cells
        if isinstance(cell, str) and (match := re.fullmatch(r"(\d+)([sm])", cell))
    ]
    return int(ages[-1][1]) * UNITS[ages[-1][2]] if ages else 0


def settle(resource: str, obj: Json, cells: list[Any]) -> None:
    """Give an object what the server chose."""
    obj["metadata"]["creationTimestamp"] = stamp(age_of(cells))
    if resource == "/v1/services":
        spec = obj["spec"]
        if spec.get("clusterIP") and spec["clusterIP"] != "None":
            spec["clusterIP"], spec["clusterIPs"] = cells[2], [cells[2]]
        for port, printed in zip(spec.get("ports", ()), cells[4].split(","), strict=False):
            if ":" in printed:
                port["nodePort"] = int(printed.partition(":")[2].partition("/")[0])
    if resource.endswith("/flowschemas"):
        # Written by the server itself soon after creation.
        obj["status"] = {"conditions": [{"type": "Dangling", "status": "False"}]}
    if resource == "/v1/persistentvolumes":
        obj.setdefault("status", {}).setdefault("phase", "Pending")


def sample(row: Json, defaults: Json, bootstrap: Json) -> Json:
    """One record: resource, object, cells."""
    cells = list(row["cells"])
    if "path" in row:
        *_, plural, name = row["path"].split("/")
        resource, kind = BY_PATH[plural]
        namespace = re.search(r"/namespaces/([^/]+)/", row["path"])
        key = f"{kind} {namespace[1]}/{name}" if namespace else f"{kind} {name}"
        obj = copy.deepcopy(bootstrap.get(key, {}))
        obj.setdefault("metadata", {})["name"] = name
    elif "defaultsLabel" in row:
        resource = row["resource"]
        label = row["defaultsLabel"]
        obj = stored(defaults[label])
        if label in OTHER_OBJECTS:
            identity = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
            obj = {**identity, **OTHER_OBJECTS[label]}
        obj["metadata"]["name"] = row["name"]
    else:
        resource = row["resource"]
        spec = {"containers": [{"name": "c", "image": "img"}], **row["spec"]}
        obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": cells[0]}, "spec": spec}
    if "status" in row:
        status = REFUSED_STATUS.get(cells[0], row["status"])
        obj["status"] = {**obj.get("status", {}), **status}
    obj = filled(obj)
    settle(resource, obj, cells)
    created = obj["metadata"]["creationTimestamp"]
    cells = [filled_cell(cell, created) for cell in cells]
    return {"resource": resource, "object": obj, "cells": cells}


def main(arguments: list[str]) -> int:
    """Write the samples beside this file."""
    reference = Path(arguments[0])
    tables, defaults, bootstrap = (
        json.loads((reference / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("tables", "defaults", "bootstrap")
    )
    samples = [
        sample(row, defaults["defaults"], bootstrap["objects"]) for row in tables["sampleRows"]
    ]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in samples)
    text = f'{{"now":{NOW},"samples":[\n{lines}\n]}}\n'
    Path(__file__).with_name("samples.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
