"""What writes of workloads do beside what their clients say."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from defaults.defaulted import defaults_of

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context, Json
from kubetrio.schema.structural import Report, compile_type

CONTEXT = Context(
    now="2026-01-01T00:00:00Z",
    uid="u-1",
    user=UserInfo("alice", "", ("devs",), {"k": ("v",)}),
)
LATER = Context(now="2026-01-02T00:00:00Z")
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}


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


def create(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    obj = decode(group, name, **raw)
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def update(group: str, name: str, old: Json, sub: str = "", /, **raw: Any) -> Json:
    kind = resource(group, name)
    new = decode(group, name, **raw)
    kind.rules.default(new)
    before = deepcopy(old)
    kind.rules.prepare_update(new, old, LATER, sub)
    assert old == before
    return new


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
