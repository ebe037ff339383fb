"""What creating a job adds to it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from checks.helpers import (
    Json,
    made,
    pod,
    resource,
)

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

JOBS = resource("jobs", "batch")
TEMPLATE = pod(restartPolicy="Never")


def test_a_job_without_labels_shares_those_of_its_pods() -> None:
    """What the server adds to the template is then a label of the job too."""
    labelled = {"spec": {"template": {"metadata": {"labels": {"app": "a"}}, **TEMPLATE}}}
    metadata = made(JOBS, labelled)["metadata"]
    assert metadata["labels"] == {
        "app": "a",
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": metadata["uid"],
        "job-name": "x",
    }


@pytest.mark.parametrize("labels", [{"app": "a"}, {"mine": "b"}])
def test_a_job_keeps_labels_of_its_own(labels: Json) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, **TEMPLATE}
    body = {"metadata": {"labels": labels}, "spec": {"template": template}}
    assert made(JOBS, body)["metadata"]["labels"] == labels


CONTEXT = Context(
    now="2026-01-01T00:00:00Z",
    uid="u-1",
    user=UserInfo("alice", "", ("devs",), {"k": ("v",)}),
)


def resource(group: str, name: str) -> Kind:
    found = registry().get(group, "v1", name)
    assert found is not None
    return found


def decode(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    raw.setdefault("metadata", {"name": "x"})
    return compile_type(kind.schema_name).decode(
        {"kind": kind.kind, "apiVersion": kind.api_version, **deepcopy(raw)}, Report()
    )


def test_a_job_without_a_name_gets_as_far_as_its_validation() -> None:
    """Which refuses it."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    obj = decode("batch", "jobs", metadata={}, spec={"template": template})
    resource("batch", "jobs").rules.prepare_create(obj, CONTEXT)
    assert obj["spec"]["template"]["metadata"]["labels"]["job-name"] == ""
