"""Checks of the apps group."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    pod,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.resources.validation import warnings

DEPLOYMENTS = resource("deployments", "apps")
DAEMONS = resource("daemonsets", "apps")
STATEFUL = resource("statefulsets", "apps")
REVISIONS = resource("controllerrevisions", "apps")


def workload(spec: Json | None = None, **template: Any) -> Json:
    return {
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, **pod(**template)},
            **(spec or {}),
        }
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            [
                (
                    "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than "
                    "minReadySeconds"
                )
            ],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            [
                (
                    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 "
                    "when "
                    "`maxSurge` is 0"
                )
            ],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "x"}}},
            [
                (
                    'spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent '
                    "string must "
                    "be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
                    "used for "
                    "validation is '[0-9]+%')"
                )
            ],
        ),
        (
            {"revisionHistoryLimit": -1},
            ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_deployment(spec: Json, expected: list[str]) -> None:
    """A rollout can go on."""
    assert refused(DEPLOYMENTS, workload(spec)) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            {"activeDeadlineSeconds": 3},
            [
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in "
                    "ReplicaSet is not Supported"
                )
            ],
        ),
        (
            {"ephemeralContainers": [{"name": "e", "image": "i"}]},
            [
                (
                    "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not "
                    "allowed "
                    "in pod template"
                )
            ],
        ),
        ({"containers": [{"name": "c", "image": " padded "}]}, []),
    ],
)
def test_template(template: Json, expected: list[str]) -> None:
    """Templates are not pods: some things are stricter, some looser."""
    assert refused(DEPLOYMENTS, workload(**template)) == expected


def test_revision_to_go_back_to() -> None:
    """It is an annotation, and named as the member it was once."""
    note = {"annotations": {"deprecated.deployment.rollback.to": "-1"}}
    assert refused(DEPLOYMENTS, {**workload(), "metadata": note}) == [
        "spec.rollback.version: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_deployment_status() -> None:
    """Counts of a status fit together."""
    old = made(DEPLOYMENTS, workload())
    new = changed(old, "status", {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3})
    assert refused_change(DEPLOYMENTS, old, new, "status") == [
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
    ]


def test_collisions_only_grow() -> None:
    """The collision count never falls."""
    old = changed(made(DEPLOYMENTS, workload()), "status", {"collisionCount": 2})
    assert refused_change(DEPLOYMENTS, old, changed(old, "status", {}), "status") == [
        "status.collisionCount: Invalid value: 0: cannot be decremented"
    ]


def test_scale() -> None:
    """Replicas are not negative."""
    scaled = {"spec": {"replicas": -1}}
    assert refused_change(DEPLOYMENTS, scaled, scaled, "scale") == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_daemons_need_room() -> None:
    """Either a surge or an outage must be allowed."""
    rolling = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    assert refused(DAEMONS, workload({"updateStrategy": rolling})) == [
        (
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
            "maxSurge is 0"
        )
    ]


CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTING = [{"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]


def test_stateful_pods_mount_their_claims() -> None:
    """Claim templates are volumes of the pods."""
    body = workload({"volumeClaimTemplates": [CLAIM]}, containers=MOUNTING)
    assert refused(STATEFUL, body) == []
    assert refused(STATEFUL, workload(containers=MOUNTING)) == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'
    ]


def test_a_claim_of_stateful_pods_has_a_name() -> None:
    """It is told of where the volume would be."""
    claim = {"spec": CLAIM["spec"]}
    found = refused(STATEFUL, workload({"serviceName": "s", "volumeClaimTemplates": [claim]}))
    volume = "spec.template.spec.volumes[0]"
    assert found == [
        f"{volume}.name: Required value",
        f"{volume}.persistentVolumeClaim.claimName: Required value",
    ]


def test_claims_of_stateful_pods_are_checked_once() -> None:
    """When they are new; and two of one name are one volume, before those of the template."""
    bare = {"metadata": {"name": "data"}, "spec": {}}
    assert refused(STATEFUL, workload({"volumeClaimTemplates": [CLAIM, bare]})) == [
        (
            "spec.volumeClaimTemplates[1].spec.accessModes: Required value: at least 1 access "
            "mode is required"
        ),
        "spec.volumeClaimTemplates[1].spec.resources[storage]: Required value",
    ]
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "B", "emptyDir": {}}]
    told = refused(STATEFUL, workload({"volumeClaimTemplates": [CLAIM]}, volumes=volumes))
    assert [line.partition(":")[0] for line in told] == ["spec.template.spec.volumes[1].name"]
    old = changed(made(STATEFUL, workload()), "spec.volumeClaimTemplates", [bare])
    assert refused_change(STATEFUL, old, changed(old, "spec.replicas", 3)) == []


def test_stateful_pods_that_were_never_checked_may_stay() -> None:
    """Templates of older servers change as they are; others become no worse."""
    good = made(STATEFUL, workload())
    old = changed(good, "spec.template.spec.containers.0.image", "")
    assert refused_change(STATEFUL, old, changed(old, "spec.replicas", 3)) == []
    assert refused_change(STATEFUL, good, old) == [
        "spec.template.spec.containers[0].image: Required value"
    ]


@pytest.mark.parametrize(
    ("path", "value", "good"),
    [
        ("spec.replicas", 3, True),
        ("spec.minReadySeconds", 3, True),
        ("spec.ordinals", {"start": 2}, True),
        ("spec.template.spec.containers.0.image", "new", True),
        ("spec.serviceName", "other", False),
        ("spec.volumeClaimTemplates", [CLAIM], False),
    ],
)
def test_stateful_update(path: str, value: Any, good: bool) -> None:
    """Some members of a StatefulSet may change."""
    old = made(STATEFUL, workload())
    assert (refused_change(STATEFUL, old, changed(old, path, value)) == []) is good


def test_revision_data() -> None:
    """Revisions hold an object and keep it."""
    assert refused(REVISIONS, {"revision": 1, "data": [1]}) == [
        "data: Required value: data must be a valid JSON object"
    ]
    old = made(REVISIONS, {"revision": 1, "data": {"a": 1}})
    assert refused_change(REVISIONS, old, changed(old, "data", {"a": 2})) == [
        'data: Invalid value: {"a":2}: field is immutable'
    ]


@pytest.mark.parametrize("name", ["hostname", "subdomain"])
def test_names_that_the_controller_gives_are_not_checked(name: str) -> None:
    body = workload(**{name: "{{"})
    assert refused(STATEFUL, body) == []
    old = made(STATEFUL, workload())
    new = changed(old, f"spec.template.spec.{name}", "{{")
    assert refused_change(STATEFUL, old, new) == []
    assert refused(DEPLOYMENTS, body) != []


def test_stateful_claims_and_history_are_warned_of_on_every_change() -> None:
    """The template only where it changed; the paths are kube-apiserver's."""
    resources = {"requests": {"storage": "1500m"}}
    claim = {"metadata": {"name": "c"}, "spec": {"resources": resources}}
    extra = {"volumeClaimTemplates": [claim], "revisionHistoryLimit": -1}
    old = made(STATEFUL, workload(extra, nodeSelector={"beta.kubernetes.io/os": "x"}))
    claims = 'resources.requests[storage]: fractional byte value "1500m"'
    first = [text.partition(" is ")[0] for text in warnings(STATEFUL, old, None)]
    assert first[1] == f"spec.volumeClaimTemplates[0].{claims}"
    again = warnings(STATEFUL, changed(old, "metadata.labels", {"a": "b"}), old)
    assert again[0].startswith(f"spec.volumeClaimTemplates[0].Spec.{claims}")
    assert again[1].startswith("spec.revisionHistoryLimit: a negative value")


def test_daemons_are_warned_of_when_their_template_changes() -> None:
    generation = "deprecated.daemonset.template.generation"
    body = workload(nodeSelector={"beta.kubernetes.io/os": "x"})
    old = made(DAEMONS, body)
    old["metadata"]["generation"] = 1
    new = changed(old, "metadata.generation", 2)
    assert warnings(DAEMONS, new, old) == []
    new["metadata"]["annotations"] = {generation: "7"}
    assert len(warnings(DAEMONS, new, old)) == 1


def test_a_controller_that_changes_is_warned_of_what_it_was() -> None:
    """kube-apiserver gives both templates in the wrong order."""
    controllers = resource("replicationcontrollers")
    spec = {"template": {"metadata": {"labels": {"a": "b"}}, **pod()}}
    good = made(controllers, {"spec": spec})
    bad = changed(good, "spec.template.spec.nodeSelector", {"beta.kubernetes.io/os": "x"})
    good["metadata"]["generation"] = 1
    bad["metadata"]["generation"] = 2
    assert warnings(controllers, bad, good) == []
    assert len(warnings(controllers, good, bad)) == 1


@pytest.mark.parametrize("case", recorded("apps"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
