"""Built-in kinds: what kube-apiserver is known to accept, and what was recorded of each."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from checks.helpers import skip_without_engine
from checks.make_group_cases import GROUPS
from checks.recorded import CONTEXT, core_writes, decoded, group_writes, objects, resource_of
from defaults.creations import SAMPLES
from defaults.creations import resource_of as resource_of_sample

from kubetrio.kinds.builtin import registry
from kubetrio.resources.validation import validate_create, validate_update
from kubetrio.schema import builtin
from kubetrio.schema.structural_shapes import struct

Json = dict[str, Any]

_PLURALS = {
    kind.kind: kind.resource
    for kinds in registry().by_group_version.values()
    for kind in kinds
    if kind.group in GROUPS
}


def sample_cases() -> list[Json]:
    cases = []
    for label, sample in SAMPLES.items():
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


def test_nothing_recorded_is_left_out() -> None:
    """Each group that something was recorded of has a folder, whose tests are about all of it."""
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    cases = (*core_writes(), *group_writes(), *objects())
    groups = {case["group"] if "group" in case else case["resource"][0] for case in cases}
    groups |= {resource_of_sample(sample).group for sample in SAMPLES.values()}
    assert {group.partition(".")[0] or "core" for group in groups} <= folders
    assert len(SAMPLES) == 170
    assert all(struct(resource_of_sample(one).schema_name).fields for one in SAMPLES.values())
