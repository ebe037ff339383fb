"""Checks of pods as a whole, new ones."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import CONTAINER, Json, changed, made, pod, refused, refused_change, resource
from checks.recorded import Case, assert_as_recorded, recorded

PODS = resource("pods")
OWN_USERS = "Forbidden: when `hostUsers` is false"
WINDOWS = "Forbidden: cannot be set for a windows pod"
ENV = "spec.containers[0].env[0].valueFrom.fileKeyRef"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def _from_file(reference: Json, **volume: Any) -> Json:
    variable = {"name": "A", "valueFrom": {"fileKeyRef": reference}}
    volumes = [{"name": "v", **volume}] if volume else []
    return pod(containers=[{**CONTAINER, "env": [variable]}], volumes=volumes)


GOOD_FILE = {"volumeName": "v", "path": "a", "key": "K"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (_from_file(GOOD_FILE, emptyDir={}), []),
        (
            _from_file(GOOD_FILE, hostPath={"path": "/x"}),
            [f'{ENV}.volumeName: Invalid value: "v": referenced volume must be of type emptyDir'],
        ),
        (_from_file(GOOD_FILE), [f'{ENV}.volumeName: Not found: "v"']),
        (
            _from_file({"volumeName": "v"}, emptyDir={}),
            [f"{ENV}.key: Required value", f"{ENV}.path: Required value"],
        ),
        (
            _from_file({**GOOD_FILE, "path": "../a"}, emptyDir={}),
            [f"{ENV}.path: Invalid value: \"../a\": must not contain '..'"],
        ),
    ],
)
def test_variables_from_files(body: Json, expected: list[str]) -> None:
    """They come from files of empty directories (KEP-3721)."""
    assert refused(PODS, body) == expected


def test_mirror_pod_has_no_claims() -> None:
    """The image of a static pod names no resource claims."""
    body = pod(nodeName="n", resourceClaims=[{"name": "a", "resourceClaimName": "b"}])
    body["metadata"] = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    assert refused(PODS, body) == ["[]: Forbidden: static pods do not support resource claims"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {
                "restartPolicy": "Never",
                "containers": [
                    {
                        **CONTAINER,
                        "resizePolicy": [
                            {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
                        ],
                    }
                ],
            },
            [
                (
                    'containers[0].resizePolicy: Invalid value: "RestartContainer": must be '
                    "'NotRequired' when pod `restartPolicy` is 'Never'"
                )
            ],
        ),
        (
            {
                "initContainers": [
                    {
                        "name": "i",
                        "image": "x",
                        "resizePolicy": [
                            {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
                        ],
                    }
                ]
            },
            [
                (
                    "initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "
                    "\"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar "
                    "initContainers"
                )
            ],
        ),
        (
            {
                "initContainers": [
                    {"name": "i", "image": "x", "restartPolicyRules": [{"action": "Restart"}]}
                ]
            },
            [
                (
                    "initContainers[0].restartPolicy: Required value: must specify restartPolicy "
                    "when restart rules are used"
                )
            ],
        ),
        (
            {
                "hostUsers": False,
                "containers": [{**CONTAINER, "volumeDevices": [{"name": "v", "devicePath": "/d"}]}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            },
            [f"containers[0].volumeDevices: {OWN_USERS}"],
        ),
        (
            {"hostnameOverride": "a", "hostNetwork": True, "setHostnameAsFQDN": True},
            [
                "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
                "hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
            ],
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]},
            [
                (
                    'tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", '
                    '"Exists", "Lt", "Gt"'
                )
            ],
        ),
        ({"preemptionPolicy": ""}, ["preemptionPolicy: Required value"]),
        ({"os": {"name": ""}}, ["os.name: Required value"]),
        (
            {
                "os": {"name": "windows"},
                "hostUsers": False,
                "shareProcessNamespace": False,
                "securityContext": {"fsGroup": 1},
            },
            [
                f"hostUsers: {WINDOWS}",
                f"securityContext.fsGroup: {WINDOWS}",
                f"shareProcessNamespace: {WINDOWS}",
            ],
        ),
        (
            {"os": {"name": "windows"}, "resources": {"requests": {"cpu": "1"}}},
            ["resources: Forbidden: may not be set for a windows pod"],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {
                        **SPREAD,
                        "labelSelector": {
                            "matchExpressions": [
                                {"key": "a", "operator": "Exists"},
                                {"key": "a", "operator": "Exists"},
                            ]
                        },
                        "matchLabelKeys": ["a"],
                    }
                ]
            },
            [
                (
                    'topologySpreadConstraints[0][0]: Invalid value: "a": exists in both '
                    "matchLabelKeys and labelSelector"
                )
            ],
        ),
    ],
)
def test_spec(spec: Json, expected: list[str]) -> None:
    """One thing wrong at a time."""
    assert refused(PODS, pod(**spec)) == [f"spec.{text}" for text in expected]


def _sized(whole: Json, *parts: Json) -> Json:
    containers = [
        {"name": f"c{index}", "image": "i", "resources": part} for index, part in enumerate(parts)
    ]
    return pod(containers=containers, resources=whole)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # what the pod does not say is not compared
        (_sized({"limits": {"memory": "1Gi"}}, {"requests": {"cpu": "1"}}), []),
        (
            _sized(
                {"requests": {"cpu": "1"}},
                {"requests": {"cpu": "600m"}},
                {"requests": {"cpu": "600m"}},
            ),
            [
                (
                    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or '
                    "equal to aggregate container requests of 1200m"
                )
            ],
        ),
        (
            _sized(
                {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"}},
                {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}},
                {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}},
            ),
            [
                (
                    'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater '
                    "than or equal to aggregate container limits of 4Mi"
                ),
                # the request of the pod is by default what its containers ask for
                (
                    'spec.resources.requests: Invalid value: "2": must be less than or equal to '
                    "cpu limit of 1"
                ),
                (
                    'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater '
                    "than or equal to aggregate container requests of 4Mi"
                ),
            ],
        ),
    ],
)
def test_resources_of_the_pod(body: Json, expected: list[str]) -> None:
    """The containers together stay within the pod (KEP-2837)."""
    assert refused(PODS, body) == expected


RULES = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}]
REFUSED = [
    (
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
        "non-terminated state"
    )
]


@pytest.mark.parametrize(
    ("container", "policy", "code", "expected"),
    [
        ({"restartPolicy": "Never", "restartPolicyRules": RULES}, "Never", 3, []),
        ({"restartPolicy": "Never", "restartPolicyRules": RULES}, "Always", 1, REFUSED),
        ({"restartPolicy": "OnFailure"}, "Never", 1, []),
        ({}, "OnFailure", 0, REFUSED),
        ({}, "Always", 0, []),
        (
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{**RULES[0], "action": "RestartAllContainers"}],
            },
            "Never",
            0,
            [],
        ),
    ],
)
def test_restart_of_an_ended_container(
    container: Json, policy: str, code: int, expected: list[str]
) -> None:
    """Rules of the container count before its policy, and that before the pod's."""
    old = made(PODS, pod(restartPolicy=policy, containers=[{**CONTAINER, **container}]))
    ended = {"name": "c", "state": {"terminated": {"exitCode": code}}}
    old["status"]["containerStatuses"] = [ended]
    new = changed(old, "status.containerStatuses.0.state", {"running": {}})
    assert refused_change(PODS, old, new, "status") == expected


def test_ephemeral_containers_have_not_even_empty_probes() -> None:
    """What is there is there, with nothing in it too."""
    container = {"name": "e", "image": "i", "ports": [], "lifecycle": {}, "livenessProbe": {}}
    told = refused(PODS, pod(ephemeralContainers=[container]))
    for name in ("lifecycle", "livenessProbe"):
        where = f"spec.ephemeralContainers[0].{name}"
        assert f"{where}: Forbidden: cannot be set for an Ephemeral Container" in told
    assert not [line for line in told if ".resources" in line]


@pytest.mark.parametrize("case", recorded("", "pods", "podtemplates", changes=False))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
