"""Objects that kube-apiserver is known to accept are accepted here."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.resources.validation import validate_create, validate_update
from kubetrio.schema import builtin

from .helpers import skip_without_engine
from .make_group_cases import GROUPS
from .test_recorded_groups import CONTEXT, decoded, resource_of

Json = dict[str, Any]

_SAMPLES: dict[str, Json] = json.loads(
    (Path(__file__).parents[1] / "defaults" / "samples.json").read_text()
)
_PLURALS = {
    kind.kind: kind.resource
    for kinds in registry().by_group_version.values()
    for kind in kinds
    if kind.group in GROUPS
}


def sample_cases() -> list[Json]:
    cases = []
    for label, sample in _SAMPLES.items():
        parts = sample["path"].strip("/").split("/")
        if parts[0] == "apis" and parts[1] in GROUPS:
            namespace = parts[4] if "namespaces" in parts else ""
            resource = [parts[1], parts[2], parts[-1]]
            cases.append(
                {"id": label, "resource": resource, "namespace": namespace, "new": sample["input"]}
            )
    return cases


def bootstrap_cases() -> list[Json]:
    cases = []
    for label, obj in builtin.load("bootstrap").items():
        group, _, version = obj["apiVersion"].rpartition("/")
        if group in GROUPS and '"<' not in json.dumps(obj):
            namespace = obj["metadata"].get("namespace", "")
            resource = [group, version, _PLURALS[obj["kind"]]]
            new = {key: value for key, value in obj.items() if key != "mandatory"}
            cases.append({"id": label, "resource": resource, "namespace": namespace, "new": new})
    return cases


@pytest.mark.parametrize("case", sample_cases(), ids=lambda case: case["id"])
def test_recorded_creations_are_accepted(case: Json) -> None:
    """What was created to learn the defaults is valid, and stays so when nothing changes."""
    resource = resource_of(case)
    if resource.kind == "CertificateSigningRequest":
        pytest.skip("the request was left out of the recording")
    skip_without_engine(case["new"])
    obj = decoded(resource, case["new"], case["namespace"])
    resource.rules.prepare_create(obj, CONTEXT)
    resource.rules.default(obj)
    assert validate_create(resource, obj) == []
    assert validate_update(resource, deepcopy(obj), obj) == []


@pytest.mark.parametrize("case", bootstrap_cases(), ids=lambda case: case["id"])
def test_objects_of_a_fresh_server_are_accepted(case: Json) -> None:
    """Everything that exists at start is valid."""
    resource = resource_of(case)
    obj = decoded(resource, case["new"], case["namespace"])
    assert validate_create(resource, obj) == []
