"""Answers recorded from a kube-apiserver, replayed against the checks."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.jsonpatch import apply_merge_patch
from kubetrio.resources.validation import validate_create, validate_update
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

FILES = ("core", "apps", "batch", "autoscaling")
CASES = [
    case
    for name in FILES
    for case in json.loads((Path(__file__).parent / "cases" / f"{name}.json").read_text())
]
OWN = ("metadata.annotations[", "metadata.taints", "metadata.conditions")
CONTEXT = Context(now="2024-01-01T00:00:00Z", uid="0f2f6d3c-1111-2222-3333-444455556666")
_dump = re.compile(r"Invalid value: (?=[{\[])")


def _resource(case: dict[str, Any]) -> Kind:
    found = registry().get(case["group"], case["version"], case["resource"])
    assert found is not None
    return found


def _decoded(resource: Kind, raw: dict[str, Any]) -> dict[str, Any]:
    obj = compile_type(resource.schema_name).decode(raw, Report())
    metadata = obj.setdefault("metadata", {})
    if resource.namespaced:
        metadata["namespace"] = "ns"
    metadata.setdefault("uid", CONTEXT.uid)
    resource.rules.default(obj)
    return obj


def _created(resource: Kind, raw: dict[str, Any]) -> dict[str, Any]:
    """What a create makes of a body before it is checked."""
    obj = _decoded(resource, raw)
    resource.rules.prepare_create(obj, CONTEXT)
    resource.rules.default(obj)
    return obj


def _stored(resource: Kind, raw: dict[str, Any]) -> dict[str, Any]:
    """An object as it is stored: the recorded one, or what a create would have stored."""
    obj = _decoded(resource, raw)
    if "creationTimestamp" not in raw["metadata"]:
        obj = _created(resource, raw)
    if resource.resource == "services" and not obj["spec"].get("clusterIP"):
        obj["spec"] |= {"clusterIP": "10.0.0.250", "clusterIPs": ["10.0.0.250"]}
    return obj


def _masked(message: str) -> str:
    """The message without what the recorder leaves out: diffs and long dumps."""
    message = re.sub(r"\n@@[\s\S]*$", "\n<diff>", message)
    match = _dump.search(message)
    if match:
        try:
            _, end = json.JSONDecoder().raw_decode(message, match.end())
        except ValueError:
            return message
        if end - match.end() > 100:
            return f"{message[: match.end()]}<object>{message[end:]}"
    return message


def _actual(case: dict[str, Any]) -> list[tuple[str, str, str]]:
    resource = _resource(case)
    if "old" in case:
        old = _stored(resource, copy.deepcopy(case["old"]))
        new = _decoded(resource, apply_merge_patch(copy.deepcopy(old), case["patch"]))
        resource.rules.prepare_update(new, old, CONTEXT, case["subresource"])
        causes = validate_update(resource, new, old, case["subresource"])
    else:
        causes = validate_create(resource, _created(resource, copy.deepcopy(case["new"])))
    return [
        (cause.reason, cause.field, _masked(cause.message))
        for cause in causes
        if not cause.field.startswith("metadata.") or cause.field.startswith(OWN)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_recorded_answer(case: dict[str, Any]) -> None:
    """The causes are those that a kube-apiserver gave, in any order."""
    expected = [tuple(cause) for cause in case["causes"]]
    assert Counter(_actual(case)) == Counter(expected)
