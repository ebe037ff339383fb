"""Checks of storage classes, drivers, attachments and capacities."""

from __future__ import annotations

from copy import deepcopy

import pytest
from checks.helpers import Json, made, refused, refused_change, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.resources.validation import validate_create, warnings

GROUP = "storage.k8s.io"
CLASSES = resource("storageclasses", GROUP)
DRIVERS = resource("csidrivers", GROUP)
NODES = resource("csinodes", GROUP)
ATTACHMENTS = resource("volumeattachments", GROUP)
CAPACITIES = resource("csistoragecapacities", GROUP)
ATTACHMENT: Json = {
    "attacher": "a.b",
    "nodeName": "n",
    "source": {"persistentVolumeName": "v"},
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            {"parameters": {f"k{i}": "" for i in range(513)}},
            ["parameters: Too long: may not be more than 512 bytes"],
        ),
        (
            {"parameters": {"k": "v" * 262144}},
            ["parameters: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}] * 2},
            ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
        ),
    ],
)
def test_storage_classes(body: Json, expected: list[str]) -> None:
    """Policies, parameters and topologies of a class are checked."""
    assert refused(CLASSES, {"provisioner": "a.b", **body}) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"tokenRequests": [{"audience": "a"}, {"audience": "a"}]},
            ['spec.tokenRequests[1].audience: Duplicate value: "a"'],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 60}]},
            [
                (
                    "spec.tokenRequests[0].expirationSeconds: Invalid value: 60: may not specify "
                    "a duration less than 10 minutes"
                )
            ],
        ),
        (
            {"nodeAllocatableUpdatePeriodSeconds": 9},
            [
                (
                    "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater "
                    "than or equal to 10 seconds"
                )
            ],
        ),
        (
            {"serviceAccountTokenInSecrets": True},
            [
                (
                    "spec.serviceAccountTokenInSecrets: Invalid value: true: "
                    "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
                )
            ],
        ),
    ],
)
def test_drivers(spec: Json, expected: list[str]) -> None:
    """What a driver asks for is checked."""
    assert refused(DRIVERS, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        (
            {"name": "d", "nodeID": "x" * 257},
            [
                (
                    f'spec.drivers[0].nodeID: Invalid value: "{"x" * 257}": must be 256 characters '
                    "or less"
                )
            ],
        ),
        (
            {"name": "d", "nodeID": "i", "allocatable": {"count": -1}},
            [
                (
                    "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or "
                    "equal to 0"
                )
            ],
        ),
        (
            {"name": "d", "nodeID": "i", "topologyKeys": ["k", "k"]},
            ['spec.drivers[0]: Duplicate value: "k"'],
        ),
    ],
)
def test_drivers_of_nodes(driver: Json, expected: list[str]) -> None:
    """What a node says of a driver is checked."""
    assert refused(NODES, {"spec": {"drivers": [driver]}}) == expected


def test_keys_come_behind_the_name_that_is_there_twice() -> None:
    """In the order of kube-apiserver."""
    driver = {"name": "d", "nodeID": "i"}
    body = made(NODES, {"spec": {"drivers": [driver, {**driver, "topologyKeys": ["k", "k"]}]}})
    assert [cause.field for cause in validate_create(NODES, body)] == [
        "spec.drivers[1].name",
        "spec.drivers[1]",
    ]


def test_only_the_limit_of_a_node_driver_changes() -> None:
    """The number of volumes may change, the identity may not."""
    old = made(NODES, {"spec": {"drivers": [{"name": "d", "nodeID": "i"}]}})
    new = deepcopy(old)
    new["spec"]["drivers"][0]["allocatable"] = {"count": 3}
    assert refused_change(NODES, old, new) == []
    new["spec"]["drivers"][0]["nodeID"] = "j"
    (found,) = refused_change(NODES, old, new)
    assert found.startswith("spec.drivers: Invalid value: ")
    assert found.endswith(": field is immutable")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {},
            (
                "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
                "persistentVolumeName"
            ),
        ),
        (
            {"persistentVolumeName": "v", "inlineVolumeSpec": {}},
            (
                "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and "
                "persistentVolumeName"
            ),
        ),
    ],
)
def test_attachments(source: Json, expected: str) -> None:
    """An attachment has one source."""
    spec = {"attacher": "a.b", "nodeName": "n", "source": source}
    assert refused(ATTACHMENTS, {"spec": spec}) == [expected]


def test_the_status_of_an_attachment() -> None:
    """Errors are short and their codes are not negative."""
    old = made(ATTACHMENTS, {"spec": ATTACHMENT})
    new = deepcopy(old)
    new["status"]["attachError"] = {"message": "m" * 1025, "errorCode": -1}
    negative = (
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, "
        "inclusive"
    )
    long = "status.attachError.message: Too long: may not be more than 262144 bytes"
    assert refused_change(ATTACHMENTS, old, new, "status") == [negative, long]


def test_the_spec_of_an_attachment_never_changes() -> None:
    """What it should have been is shown with every member, set or not."""
    old = made(ATTACHMENTS, {"spec": ATTACHMENT})
    new = {**old, "spec": {**ATTACHMENT, "nodeName": "m"}}
    assert refused_change(ATTACHMENTS, old, new) == [
        (
            'spec: Invalid value: {"Attacher":"a.b","Source":{"PersistentVolumeName":"v",'
            '"InlineVolumeSpec":null},"NodeName":"m"}: field is immutable'
        )
    ]


def test_an_attacher_is_a_driver() -> None:
    """Its name and that of the volume are checked, also when an attachment changes."""
    spec = {"attacher": "A B", "nodeName": "n", "source": {"persistentVolumeName": "V"}}
    fields = [line.partition(":")[0] for line in refused(ATTACHMENTS, {"spec": spec})]
    assert fields == ["spec.attacher", "spec.source.persistentVolumeName"]
    stored = made(ATTACHMENTS, {"spec": spec})
    found = [line.partition(":")[0] for line in refused_change(ATTACHMENTS, stored, stored)]
    assert found == fields


def test_a_class_is_checked_when_it_changes() -> None:
    """Topologies may change, to good ones."""
    old = made(CLASSES, {"provisioner": "a.b"})
    new = {**old, "allowedTopologies": [{"matchLabelExpressions": [{"key": "k"}]}]}
    assert refused_change(CLASSES, old, new) == [
        "allowedTopologies[0].matchLabelExpressions[0].values: Required value"
    ]


def test_a_capacity_is_checked_when_it_changes() -> None:
    """Amounts may change, but not below zero."""
    old = made(CAPACITIES, {"storageClassName": "c", "capacity": "1Gi"})
    assert refused_change(CAPACITIES, old, {**old, "capacity": "-1"}) == [
        'capacity: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_drivers_of_a_node_never_change() -> None:
    """They come and go, but an entry stays as it is except for what it can take."""
    driver = {"name": "d", "nodeID": "n"}
    old = made(NODES, {"spec": {"drivers": [driver]}})
    new = {**old, "spec": {"drivers": [{**driver, "nodeID": "m", "allocatable": {"count": 1}}]}}
    assert refused_change(NODES, old, new) == [
        (
            'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,'
            '"Allocatable":null}: field is immutable'
        )
    ]
    grown = {**old, "spec": {"drivers": [{**driver, "allocatable": {"count": 1}}]}}
    assert refused_change(NODES, old, grown) == []


def test_an_empty_topology_is_one_that_was_there_before() -> None:
    """A term without expressions equals each of the empty ones the check starts from."""
    body = {"provisioner": "a.b", "allowedTopologies": [{}, {"matchLabelExpressions": []}]}
    assert len(refused(CLASSES, body)) == 2 + 3


def test_old_labels_of_nodes_are_warned_about() -> None:
    """Topologies should use the labels that stay."""
    zone = "failure-domain.beta.kubernetes.io/zone"
    advice = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    term = {"matchLabelExpressions": [{"key": "k"}, {"key": zone, "values": ["a"]}]}
    assert warned(CLASSES, {"provisioner": "a.b", "allowedTopologies": [term]}) == [
        f"allowedTopologies[0].matchLabelExpressions[1]: {advice}"
    ]
    topology = {"matchLabels": {zone: "a"}, "matchExpressions": [{"key": zone}]}
    assert warned(CAPACITIES, {"nodeTopology": topology}) == [
        f"nodeTopology.matchExpressions[0].key: {zone} is {advice}",
        f"nodeTopology.matchLabels.{zone}: {advice}",
    ]


def test_the_topology_of_a_capacity_never_changes() -> None:
    """What a driver was asked for stays."""
    body = {"storageClassName": "c", "nodeTopology": {"matchLabels": {"a": "b"}}}
    old = made(CAPACITIES, body)
    new = {**old, "nodeTopology": {"matchLabels": {"a": "c"}}}
    assert refused_change(CAPACITIES, old, new) == [
        'nodeTopology: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable'
    ]


_TOKENS: Json = {"spec": {"tokenRequests": [{"audience": "a"}], "requiresRepublish": True}}


def test_tokens_in_volume_attributes_are_warned_about() -> None:
    [text] = warned(DRIVERS, _TOKENS)
    assert text.startswith("spec.serviceAccountTokenInSecrets is unset; if supported by this CSI")
    told: Json = {"spec": {**_TOKENS["spec"], "serviceAccountTokenInSecrets": False}}
    assert warned(DRIVERS, told) == []
    assert warned(DRIVERS, {"spec": {}}) == []


def test_tokens_that_were_requested_before_are_not_warned_about_again() -> None:
    old = made(DRIVERS, _TOKENS)
    assert warnings(DRIVERS, deepcopy(old), old) == []
    more = deepcopy(old)
    more["spec"]["tokenRequests"].append({"audience": "b"})
    assert len(warnings(DRIVERS, more, old)) == 1


def test_the_attributes_class_of_an_inline_volume_is_not_looked_at() -> None:
    inline = {"hostPath": {"path": "/x"}, "volumeAttributesClassName": "a b"}
    body = {"spec": {**ATTACHMENT, "source": {"inlineVolumeSpec": inline}}}
    path = "spec.source.inlineVolumeSpec"
    assert refused(ATTACHMENTS, body) == [
        f"{path}.accessModes: Required value",
        f"{path}.csi: Required value: has to be specified in the context of inline volumes",
    ]


@pytest.mark.parametrize("case", recorded("storage.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
