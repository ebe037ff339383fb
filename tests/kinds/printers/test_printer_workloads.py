"""Workloads beyond the recorded samples."""

import pytest

from kubetrio.kinds.apps import printers as apps
from kubetrio.kinds.autoscaling import printers as autoscaling
from kubetrio.kinds.batch import printers as batch

NOW = 1_000.0
START, END = "1970-01-01T00:10:00Z", "1970-01-01T00:11:40Z"
DELETED = {"deletionTimestamp": START}


def job(*true, metadata=None, spec=None, **status):
    conditions = [{"type": kind, "status": "True"} for kind in true]
    status = {"conditions": conditions, **status}
    return {"metadata": metadata or {}, "spec": spec or {}, "status": status}


@pytest.mark.parametrize(
    ("obj", "status"),
    [
        (job(), "Running"),
        (job("Complete", "Suspended"), "Complete"),
        (job("Failed", metadata=DELETED), "Failed"),
        (job("Suspended", metadata=DELETED), "Terminating"),
        (job("Suspended"), "Suspended"),
        (job("FailureTarget"), "FailureTarget"),
        (job(conditions=[{"type": "Complete", "status": "False"}]), "Running"),
    ],
)
def test_job_status(obj, status):
    """The end of a job outweighs its deletion, which outweighs the rest."""
    assert batch.job(obj, NOW)[1] == status


@pytest.mark.parametrize(
    ("obj", "completions", "duration"),
    [
        (job(spec={"completions": 3}, succeeded=1), "1/3", ""),
        (job(spec={"parallelism": 4}, startTime=START), "0/1 of 4", "6m40s"),
        (job(succeeded=1, startTime=START, completionTime=END), "1/1", "100s"),
    ],
)
def test_job_progress(obj, completions, duration):
    """Completions and how long they took so far, or in all."""
    assert batch.job(obj, NOW)[2:4] == [completions, duration]


@pytest.mark.parametrize(
    ("owner", "controller"),
    [
        ({"apiVersion": "apps/v1", "kind": "DaemonSet"}, "daemonset.apps/o"),
        ({"apiVersion": "v1", "kind": "Node"}, "node/o"),
        ({"apiVersion": "v1", "kind": "Node", "controller": False}, "<none>"),
    ],
)
def test_controller_revision(owner, controller):
    """Who made the revision."""
    owner = {"name": "o", "controller": True, **owner}
    obj = {"metadata": {"ownerReferences": [owner]}, "revision": 4}
    assert apps.controller_revision(obj, NOW)[1:3] == [controller, 4]


def test_deployment_selector():
    """Of all workloads, deployments print an empty or bad selector in their own way."""
    bad = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    cells = [
        apps.deployment({"spec": {"selector": each}}, NOW)[-1]
        for each in ({}, {"matchLabels": {"a": "b"}}, bad)
    ]
    assert cells == ["", "a=b", "<invalid>"]


def test_daemon_set_node_selector():
    """Node selector as labels."""
    spec = {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}}
    assert apps.daemon_set({"spec": spec}, NOW)[6] == "a=1,b=2"


def test_cron_job_optional_fields():
    """What is not set says so, in two ways."""
    assert batch.cron_job({"spec": {"schedule": "@daily"}}, NOW)[1:6] == [
        "@daily",
        "<none>",
        "<unset>",
        0,
        "<none>",
    ]


def test_scale():
    """Desired and available replicas."""
    obj = {"metadata": {"name": "d"}, "spec": {"replicas": 3}, "status": {"replicas": 2}}
    assert autoscaling.scale(obj, NOW) == ["d", 3, 2, "<unknown>"]
