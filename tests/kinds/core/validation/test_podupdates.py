"""Checks of changes to pods."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    CONTAINER,
    Json,
    changed,
    made,
    pod,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.kinds.core.validation.sums import quality_of_service

PODS = resource("pods")
OLD = made(PODS, pod(activeDeadlineSeconds=30))
GATED = made(PODS, pod(schedulingGates=[{"name": "a.io/g"}], nodeSelector={"a": "b"}))
REQUESTS = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
SIZED = made(PODS, pod(containers=[{**CONTAINER, "resources": REQUESTS}]))


@pytest.mark.parametrize(
    ("old", "path", "value", "expected"),
    [
        (OLD, "spec.containers.0.image", "new", []),
        (OLD, "spec.tolerations", [{"key": "k", "operator": "Exists"}], []),
        (OLD, "spec.activeDeadlineSeconds", 20, []),
        (
            OLD,
            "spec.activeDeadlineSeconds",
            None,
            [
                (
                    "spec.activeDeadlineSeconds: Invalid value: null: must not update from a "
                    "positive "
                    "integer to nil value"
                )
            ],
        ),
        (
            OLD,
            "spec.schedulingGates",
            [{"name": "a.io/new"}],
            [
                (
                    "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but "
                    "found new "
                    "scheduling gate 'a.io/new'"
                )
            ],
        ),
        (OLD, "spec.containers", [CONTAINER, CONTAINER], None),
        (GATED, "spec.nodeSelector", {"a": "b", "c": "d"}, []),
        (
            GATED,
            "spec.nodeSelector",
            {"a": "c"},
            [
                (
                    'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to '
                    "spec.nodeSelector are "
                    "allowed (no mutations or deletions)"
                )
            ],
        ),
        (
            GATED,
            "spec.nodeSelector",
            None,
            [
                (
                    "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector "
                    "are allowed (no mutations or deletions)"
                )
            ],
        ),
        (GATED, "spec.affinity", {"nodeAffinity": {}}, []),
        (OLD, "metadata.annotations", {"kubernetes.io/config.mirror": "m"}, None),
    ],
)
def test_update(old: Json, path: str, value: Any, expected: list[str] | None) -> None:
    """Only some members of a pod may change."""
    found = refused_change(PODS, old, changed(old, path, value))
    if expected is None:
        assert found
    else:
        assert found == expected


def test_negative_grace_may_become_one() -> None:
    """A grace period that should never have been accepted may be set right."""
    old = changed(OLD, "spec.terminationGracePeriodSeconds", -5)
    assert refused_change(PODS, old, changed(old, "spec.terminationGracePeriodSeconds", 1)) == []


EPHEMERAL = {
    "name": "dbg",
    "image": "i",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([], [EPHEMERAL], []),
        (
            [EPHEMERAL],
            [],
            [
                (
                    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "dbg" may '
                    "not be "
                    "removed\n"
                )
            ],
        ),
        (
            [],
            [{**EPHEMERAL, "name": "c"}],
            ['spec.ephemeralContainers[0].name: Duplicate value: "c"'],
        ),
        (
            [],
            [{**EPHEMERAL, "targetContainerName": "zz"}],
            ['spec.ephemeralContainers[0].targetContainerName: Not found: "zz"'],
        ),
        (
            [],
            [{**EPHEMERAL, "ports": [{"containerPort": 1, "protocol": "TCP"}]}],
            [
                (
                    "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral "
                    "Container"
                )
            ],
        ),
    ],
)
def test_ephemeral_containers(old: list[Json], new: list[Json], expected: list[str]) -> None:
    """Ephemeral containers are added and never changed."""
    before = changed(OLD, "spec.ephemeralContainers", old)
    after = changed(OLD, "spec.ephemeralContainers", new)
    assert refused_change(PODS, before, after, "ephemeralcontainers") == expected


def test_changed_ephemeral_container_shows_what_changed() -> None:
    """The message ends with a diff."""
    before = changed(OLD, "spec.ephemeralContainers", [EPHEMERAL])
    after = changed(before, "spec.ephemeralContainers.0.image", "other")
    (text,) = refused_change(PODS, before, after, "ephemeralcontainers")
    assert 'existing ephemeral containers "dbg" may not be changed\n@@ ' in text


@pytest.mark.parametrize(
    ("old", "resources", "expected"),
    [
        (SIZED, {"requests": {"cpu": "500m"}, "limits": {"cpu": "2"}}, []),
        (
            OLD,
            {"requests": {"cpu": "10m"}},
            [
                (
                    'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result '
                    "of "
                    "resizing"
                )
            ],
        ),
        (
            SIZED,
            {"requests": {"cpu": "1"}},
            ["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"],
        ),
        (
            SIZED,
            {"requests": {"cpu": "1", "ephemeral-storage": "1"}, "limits": {"cpu": "2"}},
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
    ],
)
def test_resize(old: Json, resources: Json, expected: list[str]) -> None:
    """CPU and memory may change within the quality of service."""
    old = changed(old, "status.qosClass", quality_of_service(old["spec"]))
    new = changed(old, "spec.containers.0.resources", resources)
    assert refused_change(PODS, old, new, "resize") == expected


def initial(**more: Any) -> Json:
    """A pod with an init container."""
    resources = {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}
    container = {**SIZED["spec"]["containers"][0], "name": "first", "resources": resources, **more}
    return changed(SIZED, "spec.initContainers", [container])


KINDS = "init or sidecar containers"
ONLY = "only cpu and memory resources"
RESTARTING = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]


@pytest.mark.parametrize("sidecar", [{}, {"restartPolicy": "Always"}])
@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("resources.requests.cpu", "2", []),
        (
            "resources.requests.ephemeral-storage",
            "2Gi",
            [f"spec.initContainers[0]: Forbidden: {ONLY} for {KINDS} are mutable"],
        ),
        (
            "resizePolicy",
            [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
            [f"spec.initContainers[0]: Forbidden: {ONLY} for {KINDS} are mutable"],
        ),
    ],
)
def test_resize_of_init_containers(
    sidecar: Json, member: str, value: Any, expected: list[str]
) -> None:
    """Those that end may be resized, too; their policy is not to be changed."""
    old = initial(**sidecar)
    new = changed(old, f"spec.initContainers.0.{member}", value)
    assert refused_change(PODS, old, new, "resize") == expected


def test_init_containers_that_would_restart() -> None:
    """They were let in once, and are not resized."""
    old = initial(resizePolicy=RESTARTING)
    new = changed(old, "spec.initContainers.0.resources.requests.cpu", "2")
    found = refused_change(PODS, old, new, "resize")
    assert found[-1] == (
        "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of "
        "RestartContainer cannot be resized"
    )


def test_resize_keeps_the_policy() -> None:
    """Of containers as well."""
    new = changed(SIZED, "spec.containers.0.resizePolicy", RESTARTING)
    assert refused_change(PODS, SIZED, new, "resize") == [f"spec: Forbidden: {ONLY} are mutable"]


POLICY = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}


@pytest.mark.parametrize(
    ("place", "member", "value", "expected"),
    [
        (
            "containers.0",
            "resizePolicy",
            [POLICY],
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
        ("initContainers.0", "resources", {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}, []),
        (
            "initContainers.0",
            "resources",
            {},
            [
                f"spec.initContainers[0].resources.{side}: Forbidden: resource {side} cannot be "
                "removed"
                for side in ("limits", "requests")
            ],
        ),
        (
            "initContainers.0",
            "image",
            "other",
            [
                (
                    "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or "
                    "sidecar containers are mutable"
                )
            ],
        ),
    ],
)
def test_resize_of_containers(place: str, member: str, value: Any, expected: list[str]) -> None:
    """Of every container, what it asks for may change, and nothing else."""
    start = {**CONTAINER, "name": "i", "resources": REQUESTS}
    sized = {**CONTAINER, "resources": REQUESTS}
    old = made(PODS, pod(initContainers=[start], containers=[sized]))
    old = changed(old, "status.qosClass", quality_of_service(old["spec"]))
    new = changed(old, f"spec.{place}.{member}", value)
    assert refused_change(PODS, old, new, "resize") == expected


def test_binding() -> None:
    """A Binding names a node."""
    bindings = resource("bindings")
    body = {"target": {"kind": "Pod"}}
    expected = [
        "target.name: Required value",
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    ]
    assert refused_change(PODS, OLD, body, "binding") == sorted(expected)
    assert bindings.kind == "Binding"


WHOLE = made(
    PODS,
    pod(
        containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}],
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
    ),
)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.resources.requests.cpu", "3", []),
        (
            "spec.resources",
            None,
            ["spec.resources: Forbidden: pod-level resources cannot be removed"],
        ),
        (
            "spec.resources.requests",
            None,
            ["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"],
        ),
        (
            "spec.containers.0.resources.requests",
            None,
            [
                (
                    "spec.containers[0].resources.requests: Forbidden: resource requests cannot "
                    "be removed"
                )
            ],
        ),
        (
            "spec.containers.0.name",
            "d",
            [
                (
                    "spec.containers[0].name: Forbidden: containers may not be renamed or "
                    "reordered on resize"
                )
            ],
        ),
        (
            "spec.initContainers",
            [
                {
                    **CONTAINER,
                    "name": "i",
                    "imagePullPolicy": "Always",
                    "terminationMessagePolicy": "File",
                }
            ],
            [
                (
                    "spec.initContainers: Forbidden: initContainers may not be added or removed "
                    "on resize"
                )
            ],
        ),
    ],
)
def test_resize_of_a_whole_pod(path: str, value: Any, expected: list[str]) -> None:
    """Pod-level resources change like those of containers (KEP-5419)."""
    new = changed(WHOLE, path, value)
    if path == "spec.resources":
        new["spec"]["resources"] = None
    assert refused_change(PODS, WHOLE, new, "resize") == expected


def _on(*keys: str) -> Json:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in keys]
    needed = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": needed}


def test_terms_of_a_gated_pod_are_printed_in_the_words_of_go() -> None:
    """All members, and their names there."""
    old = made(PODS, pod(schedulingGates=[{"name": "a.io/g"}], affinity=_on("a")))
    new = changed(old, "spec.affinity", _on("b"))
    shown = (
        '{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}'
    )
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    assert refused_change(PODS, old, new) == [
        (
            f"{path}.nodeSelectorTerms[0]: Invalid value: {shown}: only additions are allowed (no "
            "mutations or deletions)"
        )
    ]
    new = changed(old, "spec.affinity", _on("a", "b"))
    (text,) = refused_change(PODS, old, new)
    assert text.startswith(f'{path}.nodeSelectorTerms: Invalid value: [{{"MatchExpressions":')


@pytest.mark.parametrize("case", recorded("", "pods", "podtemplates", changes=True))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
