"""Rules of pods that came with Kubernetes 1.34 to 1.36, and what they share between members."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .helpers import CONTAINER, Json, changed, made, pod, refused, refused_change, resource

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


def test_image_volume_may_be_mounted_in_parts() -> None:
    """A sub path of an image is allowed since image volumes are beta."""
    mount = {"name": "v", "mountPath": "/v", "subPath": "a"}
    body = pod(
        containers=[{**CONTAINER, "volumeMounts": [mount]}],
        volumes=[{"name": "v", "image": {"reference": "img"}}],
    )
    assert refused(PODS, body) == []


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


def test_unknown_container_does_not_restart() -> None:
    """Not even where everything restarts."""
    old = made(PODS, pod())
    old["status"]["containerStatuses"] = [{"name": "z", "state": {"terminated": {"exitCode": 0}}}]
    new = changed(old, "status.containerStatuses.0.state", {"running": {}})
    assert refused_change(PODS, old, new, "status") == REFUSED


BOUND = made(PODS, pod(nodeName="n"))
CLAIM = "status.extendedResourceClaimStatus"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"nominatedNodeName": "m"},
            [
                (
                    "status.nominatedNodeName: Forbidden: may not be set on pods that are already "
                    "bound to a node"
                )
            ],
        ),
        (
            {"observedGeneration": -1, "conditions": [{"type": "Ready", "observedGeneration": -2}]},
            [
                (
                    "status.conditions[0].observedGeneration: Invalid value: -2: must be a "
                    "non-negative integer"
                ),
                ("status.observedGeneration: Invalid value: -1: must be a non-negative integer"),
            ],
        ),
        (
            {"conditions": [{"type": "/x"}]},
            [('status.conditions[0].Type: Invalid value: "/x": prefix part must be non-empty')],
        ),
        (
            {
                "extendedResourceClaimStatus": {
                    "requestMappings": [
                        {"containerName": "c", "resourceName": "e.io/x", "requestName": "r"},
                        {"containerName": "z", "resourceName": "e.io/x", "requestName": "r"},
                    ]
                }
            },
            [
                (
                    f'{CLAIM}.requestMappings[0].resourceName: Invalid value: "e.io/x": must match '
                    "the extended resource name of an entry in "
                    "spec.initContainers.resources.requests or spec.containers.resources.requests"
                ),
                (
                    f'{CLAIM}.requestMappings[1].containerName: Invalid value: "z": must match the '
                    "name of an entry in spec.initContainers.name or spec.containers.name"
                ),
                f"{CLAIM}.resourceClaimName: Required value",
            ],
        ),
        (
            {"extendedResourceClaimStatus": {"resourceClaimName": "a"}},
            [
                (
                    f"{CLAIM}.requestMappings: Required value: at least one request mapping is "
                    "required"
                )
            ],
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "c",
                        "user": {"linux": {"uid": -1, "gid": 0}},
                        "allocatedResourcesStatus": [
                            {
                                "name": "claim:x",
                                "resources": [{"health": "Healthy", "message": ""}],
                            }
                        ],
                    }
                ]
            },
            [
                (
                    "status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "
                    '"claim:x": must match one of the container\'s resource claims in a format '
                    "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
                ),
                (
                    "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: "
                    "Required value: must be non-empty if specified"
                ),
                (
                    "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be "
                    "between 0 and 2147483647, inclusive"
                ),
            ],
        ),
    ],
)
def test_status(status: Json, expected: list[str]) -> None:
    """What kubelets and schedulers may write."""
    new = copy.deepcopy(BOUND)
    new["status"].update(status)
    assert refused_change(PODS, BOUND, new, "status") == expected


def test_stored_addresses_of_a_pod_may_stay_loose() -> None:
    """Only new ones must be written strictly."""
    old = copy.deepcopy(BOUND)
    old["status"]["podIPs"] = [{"ip": "010.0.0.1"}]
    assert refused_change(PODS, old, old, "status") == []
    assert refused_change(PODS, BOUND, old, "status") == [
        'status.podIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s'
    ]


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


def test_bad_annotation_is_told_twice_on_update() -> None:
    """Once of the pod and once of the change, as kube-apiserver does."""
    cost = "controller.kubernetes.io/pod-deletion-cost"
    new = copy.deepcopy(BOUND)
    new["metadata"]["annotations"] = {cost: "x"}
    told = f'metadata.annotations[{cost}]: Invalid value: "x": must be a 32bit integer'
    assert refused_change(PODS, BOUND, new) == [told, told]
    assert refused_change(PODS, BOUND, new, "status") == [told]


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


def test_ephemeral_containers_have_not_even_empty_probes() -> None:
    """What is there is there, with nothing in it too."""
    container = {"name": "e", "image": "i", "ports": [], "lifecycle": {}, "livenessProbe": {}}
    told = refused(PODS, pod(ephemeralContainers=[container]))
    for name in ("lifecycle", "livenessProbe"):
        where = f"spec.ephemeralContainers[0].{name}"
        assert f"{where}: Forbidden: cannot be set for an Ephemeral Container" in told
    assert not [line for line in told if ".resources" in line]
