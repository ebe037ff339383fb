"""What creating a job adds to it."""

from __future__ import annotations

import pytest
from checks.helpers import (
    Json,
    made,
    pod,
    resource,
)
from checks.prepared import CONTEXT, decode

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


def test_a_job_without_a_name_gets_as_far_as_its_validation() -> None:
    """Which refuses it."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    obj = decode("batch", "jobs", metadata={}, spec={"template": template})
    JOBS.rules.prepare_create(obj, CONTEXT)
    assert obj["spec"]["template"]["metadata"]["labels"]["job-name"] == ""
