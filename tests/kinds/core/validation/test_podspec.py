"""Checks of the specs of pods beside containers and volumes."""

from __future__ import annotations

import pytest
from checks.helpers import CONTAINER, Json, pod, refused, resource

PODS = resource("pods")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}},
            [
                (
                    "dnsConfig.nameservers: Invalid value: "
                    '["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must '
                    "not have more than 3 nameservers"
                )
            ],
        ),
        (
            {"dnsConfig": {"nameservers": ["x"]}},
            [
                (
                    'dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, '
                    "(e.g. "
                    "10.9.8.7 or 2001:db8::ffff)"
                )
            ],
        ),
        (
            {"dnsConfig": {"options": [{}]}},
            ["dnsConfig.options[0]: Required value: must not be empty"],
        ),
        (
            {"hostAliases": [{"ip": "010.0.0.1", "hostnames": ["a"]}]},
            ['hostAliases[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'],
        ),
        (
            {"readinessGates": [{"conditionType": ""}]},
            [
                'readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
                (
                    'readinessGates[0].conditionType: Invalid value: "": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric "
                    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
            ],
        ),
        (
            {
                "hostNetwork": True,
                "containers": [{**CONTAINER, "ports": [{"containerPort": 1, "hostPort": 2}]}],
            },
            [
                (
                    "containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` "
                    "when "
                    "`hostNetwork` is true"
                )
            ],
        ),
        (
            {"preemptionPolicy": "Sometimes"},
            [
                (
                    'preemptionPolicy: Unsupported value: "Sometimes": supported values: '
                    '"PreemptLowerPriority", "Never"'
                )
            ],
        ),
        (
            {"resourceClaims": [{"name": "a"}]},
            [
                (
                    'resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,'
                    '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, '
                    "`resourceClaimTemplateName`"
                )
            ],
        ),
        (
            {"tolerations": [{"operator": "Equal"}]},
            [
                (
                    'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
                    "`key` "
                    'is empty, which means "match all values and all keys"'
                )
            ],
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "zone", "matchLabelKeys": ["a"]}
                        ]
                    }
                }
            },
            [
                (
                    "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
                    "matchLabelKeys: "
                    "Forbidden: must not be specified when labelSelector is not set"
                )
            ],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchFields": [
                                        {"key": "metadata.uid", "operator": "In", "values": ["a"]}
                                    ]
                                }
                            ]
                        }
                    }
                }
            },
            [
                (
                    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    'nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": not a '
                    "valid "
                    "field selector key"
                )
            ],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "z",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "minDomains": 2,
                        "labelSelector": {},
                    }
                ]
            },
            [
                (
                    "topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use "
                    "minDomains if "
                    "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
                )
            ],
        ),
        (
            {"securityContext": {"fsGroup": -1}},
            [
                (
                    "securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, "
                    "inclusive"
                )
            ],
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            [
                (
                    "securityContext.seccompProfile.localhostProfile: Required value: must be "
                    "set when "
                    "seccomp type is Localhost"
                )
            ],
        ),
        (
            {
                "securityContext": {
                    "appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"}
                }
            },
            [
                (
                    'securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can '
                    "only "
                    "be set "
                    "when AppArmor type is Localhost"
                )
            ],
        ),
        (
            {
                "securityContext": {"sysctls": [{"name": "net.a", "value": "1"}]},
                "hostNetwork": True,
            },
            [
                (
                    'securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified '
                    "when "
                    "'hostNetwork' is true"
                )
            ],
        ),
        (
            {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
            ["securityContext.runAsUser: Forbidden: cannot be set for a windows pod"],
        ),
        (
            {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
            [
                (
                    "securityContext.windowsOptions: Forbidden: windows options cannot be set "
                    "for a "
                    "linux "
                    "pod"
                )
            ],
        ),
        (
            {"securityContext": {"windowsOptions": {"runAsUserName": "a\\b\\c"}}},
            [
                (
                    'securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": '
                    "runAsUserName cannot contain more than one backslash"
                )
            ],
        ),
        (
            {
                "resources": {"requests": {"cpu": "1"}},
                "containers": [{**CONTAINER, "resources": {"requests": {"cpu": "2"}}}],
            },
            [
                (
                    'resources.requests[cpu]: Invalid value: "1": must be greater than or equal to '
                    "aggregate container requests of 2"
                )
            ],
        ),
    ],
)
def test_spec(spec: Json, expected: list[str]) -> None:
    """A bad member of the spec is told with its path."""
    assert refused(PODS, pod(**spec)) == sorted(f"spec.{text}" for text in expected)
