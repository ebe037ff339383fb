"""Refused structs in messages."""

from __future__ import annotations

import pytest
from checks.helpers import Json

from kubetrio.kinds.common.gostructs import go_struct_of, go_structs_of
from kubetrio.machinery.fielderrors import format_value


@pytest.mark.parametrize(
    ("type_name", "value", "expected"),
    [
        (
            "storage.v1.VolumeAttachmentSpec",
            {"attacher": "a", "source": {"persistentVolumeName": "v"}, "nodeName": "n"},
            (
                '{"Attacher":"a","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},'
                '"NodeName":"n"}'
            ),
        ),
        (
            "flowcontrol.v1.PriorityLevelConfigurationSpec",
            {"type": "Limited", "limited": {"lendablePercent": 0}},
            (
                '{"Type":"Limited","Limited":{"NominalConcurrencyShares":null,"LimitResponse":'
                '{"Type":"","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},'
                '"Exempt":null}'
            ),
        ),
        (
            "networking.v1.ParentReference",
            {"resource": "services", "name": "s"},
            '{"Group":"","Resource":"services","Namespace":"","Name":"s"}',
        ),
        (
            "resource.v1.DeviceSelector",
            {"cel": {"expression": "a < b"}},
            '{"CEL":{"Expression":"a \\u003c b"}}',
        ),
        (
            "resource.v1.CapacityRequirements",
            {"requests": {"b": "2", "a": "1"}},
            '{"Requests":{"a":"1","b":"2"}}',
        ),
    ],
)
def test_every_member_has_its_go_name(type_name: str, value: Json, expected: str) -> None:
    """Members stand in Go's order; what is not set is null or zero."""
    assert format_value(go_struct_of(f"io.k8s.api.{type_name}", value)) == expected


def test_names_that_differ_inside() -> None:
    """The API shortens the names of attributes."""
    shown = go_struct_of("io.k8s.api.resource.v1.DeviceAttribute", {"bool": True, "int": 1})
    assert [name for name, value in shown.items() if value is not None] == [
        "IntValue",
        "BoolValue",
    ]


def test_metadata_and_selectors_print_as_in_the_api() -> None:
    """Types of meta/v1 have JSON names; embedded metadata is no member of its own."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": []}}}
    assert format_value(
        go_struct_of("io.k8s.api.resource.v1.ResourceClaimTemplateSpec", template)
    ) == (
        '{"labels":{"a":"b"},"Spec":{"Devices":{"Requests":[],"Constraints":null,"Config":null}}}'
    )
    spec = {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]}
    assert format_value(go_struct_of("io.k8s.api.networking.v1.NetworkPolicySpec", spec)) == (
        '{"PodSelector":{"matchLabels":{"a":"b"}},"Ingress":null,"Egress":null,'
        '"PolicyTypes":["Ingress"]}'
    )


def test_lists_and_nothing() -> None:
    """A list that is not set is null, and a struct that is not set is all zeros."""
    term = "io.k8s.api.core.v1.NodeSelectorTerm"
    assert go_structs_of(term, None) is None
    assert go_structs_of(term, [{}]) == [{"MatchExpressions": None, "MatchFields": None}]
    assert go_struct_of("io.k8s.api.rbac.v1.RoleRef", None) == {
        "APIGroup": "",
        "Kind": "",
        "Name": "",
    }


def test_unknown_types() -> None:
    """Only built-in types have an inside."""
    with pytest.raises(KeyError):
        go_struct_of("io.k8s.api.storage.v1.Nothing", {})
