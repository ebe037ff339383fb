"""What writes of workloads do beside what their clients say."""

from __future__ import annotations

from checks.prepared import POD_SPEC, create, update
from defaults.defaulted import defaults_of


def test_a_daemon_set_counts_changes_of_its_template() -> None:
    """The annotation goes up with the template, and with nothing else."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    old = create("apps", "daemonsets", spec=spec)
    key = "deprecated.daemonset.template.generation"
    same = update("apps", "daemonsets", old, spec={**spec, "minReadySeconds": 3})
    assert same["metadata"]["annotations"] == {key: "1"}
    other = {**template, "metadata": {"labels": {"a": "b", "c": "d"}}}
    changed = update("apps", "daemonsets", old, spec={**spec, "template": other})
    assert changed["metadata"]["annotations"] == {key: "2"}


def test_whoever_writes_a_daemon_set_owns_its_generation() -> None:
    """The annotation is there before owners of members are noted, as conversion leaves it."""
    key = "deprecated.daemonset.template.generation"
    change = defaults_of("io.k8s.api.apps.v1.DaemonSet")
    new = {"metadata": {"name": "a", "annotations": {"z": "y"}}, "spec": {}}
    change(new)
    assert new["metadata"]["annotations"] == {key: "0", "z": "y"}
    kept = {"metadata": {"name": "a", "annotations": {key: "7"}}, "spec": {}}
    change(kept)
    assert kept["metadata"]["annotations"] == {key: "7"}


def test_a_deployment_keeps_its_labels_when_its_status_is_written() -> None:
    """And takes annotations, as other kinds take both."""
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
    }
    meta = {"name": "x", "labels": {"l": "new"}, "annotations": {"n": "new"}}
    for name, labels in (("deployments", {"l": "old"}), ("replicasets", {"l": "new"})):
        old = create("apps", name, metadata={"name": "x", "labels": {"l": "old"}}, spec=spec)
        new = update("apps", name, old, "status", metadata=meta, spec=spec)["metadata"]
        assert (new["labels"], new["annotations"]) == (labels, {"n": "new"})
