"""Policy resources beyond the recorded samples."""

import pytest

from kubetrio.kinds.admissionregistration import printers as admissionregistration
from kubetrio.kinds.certificates import printers as certificates
from kubetrio.kinds.flowcontrol import printers as flowcontrol
from kubetrio.kinds.policy import printers as policy
from kubetrio.kinds.rbac import printers as rbac

NOW = 1_000.0


def test_role_binding_subjects():
    """Subjects by kind; other kinds are not shown."""
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        {"kind": "Other", "name": "o"},
    ]
    binding = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects}
    assert rbac.role_binding(binding, NOW) == ["", "Role/r", "<unknown>", "u, v", "", "n/s"]


@pytest.mark.parametrize(
    ("conditions", "certificate", "printed"),
    [
        ([], "", "Pending"),
        (["Approved"], "", "Approved"),
        (["Approved"], "Y2VydA==", "Approved,Issued"),
        (["Approved", "Denied", "Failed"], "", "Denied,Failed"),
    ],
)
def test_request_condition(conditions, certificate, printed):
    """Denial outweighs approval; failure and issue are added."""
    status = {"conditions": [{"type": kind} for kind in conditions], "certificate": certificate}
    assert certificates.certificate_signing_request({"status": status}, NOW)[5] == printed


def test_requested_duration():
    """The duration asked for prints like an age."""
    obj = {"spec": {"expirationSeconds": 3600, "signerName": "s", "username": "u"}}
    assert certificates.certificate_signing_request(obj, NOW)[2:5] == ["s", "u", "60m"]


SELECTOR = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
}


@pytest.mark.parametrize(
    ("reference", "printed"),
    [
        (None, "<unset>"),
        ({}, "<unset>"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"name": "p"}, "*/p"),
        (
            {"selector": SELECTOR},
            (
                "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
                "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,"
                "Values:[x y],},},}"
            ),
        ),
    ],
)
def test_parameter_reference(reference, printed):
    """Parameters by name, or by selector as Go prints it."""
    assert (
        admissionregistration.admission_policy_binding({"spec": {"paramRef": reference}}, NOW)[2]
        == printed
    )


def test_parameter_kind():
    """Parameters by kind."""
    spec = {"paramKind": {"apiVersion": "g/v1", "kind": "K"}, "mutations": [{}, {}]}
    assert admissionregistration.mutating_admission_policy({"spec": spec}, NOW)[1:3] == [
        2,
        "g/v1/K",
    ]


def test_flow_schema_without_status():
    """Whether the priority level is missing is not known at first."""
    assert flowcontrol.flow_schema({}, NOW)[5] == "?"


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({"minAvailable": 0}, ["0", "N/A"]),
        ({"maxUnavailable": "50%"}, ["N/A", "50%"]),
    ],
)
def test_disruption_budget(spec, cells):
    """Numbers and shares print as texts."""
    assert policy.pod_disruption_budget({"spec": spec}, NOW)[1:3] == cells
