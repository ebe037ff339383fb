"""Checks of the status of pods."""

from __future__ import annotations

import copy

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    pod,
    refused_change,
    resource,
)

PODS = resource("pods")
OLD = made(PODS, pod(activeDeadlineSeconds=30))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}]}, []),
        (
            {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}]},
            [
                (
                    'status.podIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"1.1.1.2"}]: may '
                    "specify no "
                    "more than one IP for each IP family"
                )
            ],
        ),
        (
            {"hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.2"}]},
            ['status.hostIPs[0].ip: Invalid value: "1.1.1.2": must be equal to `hostIP`'],
        ),
        (
            {"qosClass": "Guaranteed"},
            ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
        ),
        ({"nominatedNodeName": "a"}, []),
        (
            {"resourceClaimStatuses": [{"name": "a"}]},
            [
                (
                    'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name '
                    "of an "
                    "entry in `spec.resourceClaims`"
                )
            ],
        ),
    ],
)
def test_status(status: Json, expected: list[str]) -> None:
    """Kubelets may not write everything."""
    old = changed(OLD, "status", {"qosClass": "BestEffort"})
    new = changed(OLD, "status", {"qosClass": "BestEffort", **status})
    assert refused_change(PODS, old, new, "status") == expected


def test_ended_container_stays_ended() -> None:
    """A container that will not be restarted does not run again."""
    old = made(PODS, pod(restartPolicy="Never"))
    ended = {"name": "c", "state": {"terminated": {"exitCode": 1}}}
    old["status"]["containerStatuses"] = [ended]
    new = changed(old, "status.containerStatuses.0.state", {"running": {}})
    assert refused_change(PODS, old, new, "status") == [
        (
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
            "non-terminated "
            "state"
        )
    ]


REFUSED = [
    (
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
        "non-terminated state"
    )
]


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
def test_members_of_later_releases(status: Json, expected: list[str]) -> None:
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
