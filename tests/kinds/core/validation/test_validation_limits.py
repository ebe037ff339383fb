"""Checks of quotas and limit ranges."""

from __future__ import annotations

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
    warned,
)
from checks.recorded import Case, assert_as_recorded, recorded

from kubetrio.resources.validation import warnings
from kubetrio.schema.kind import Kind

QUOTAS = resource("resourcequotas")
LIMITS = resource("limitranges")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"hard": {"pods": "500m"}},
            ['spec.hard[pods]: Invalid value: "500m": must be an integer'],
        ),
        (
            {"hard": {"configmaps": "1"}, "scopes": ["BestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        ({"hard": {"requests.example.com/gpu": "1"}}, []),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "BestEffort", "operator": "In", "values": ["a"]}
                    ]
                }
            },
            [
                (
                    'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must '
                    "be 'Exists' "
                    "when scope is any of ResourceQuotaScopeTerminating, "
                    "ResourceQuotaScopeNotTerminating, "
                    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                    "ResourceQuotaScopeCrossNamespacePodAffinity"
                )
            ],
        ),
    ],
)
def test_quota(spec: Json, expected: list[str]) -> None:
    """Quotas limit what they know, in scopes that fit."""
    assert refused(QUOTAS, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (
            {"type": "Cluster"},
            [
                (
                    'spec.limits[0].type: Invalid value: "Cluster": must be a standard limit '
                    "type or fully "
                    "qualified"
                )
            ],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            [
                (
                    "spec.limits[0].limits: Required value: either minimum or maximum storage "
                    "value is "
                    "required, but neither was provided"
                )
            ],
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}},
            [
                (
                    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m '
                    "is less "
                    "than 1"
                )
            ],
        ),
        (
            {
                "type": "Pod",
                "min": {"cpu": "1"},
                "max": {"cpu": "2"},
                "maxLimitRequestRatio": {"cpu": "3"},
            },
            [
                (
                    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is '
                    "greater than "
                    "max/min = 2.000000"
                )
            ],
        ),
    ],
)
def test_limit_range(limit: Json, expected: list[str]) -> None:
    """Limits are in order."""
    assert refused(LIMITS, {"spec": {"limits": [limit]}}) == expected


def test_scopes_of_a_quota_that_are_gone() -> None:
    """No list is null."""
    old = made(QUOTAS, {"spec": {"scopes": ["BestEffort"], "hard": {"pods": "1"}}})
    assert refused_change(QUOTAS, old, changed(old, "spec.scopes", None)) == [
        "spec.scopes: Invalid value: null: field is immutable"
    ]


@pytest.mark.parametrize(
    ("hard", "texts"),
    [
        (
            {"requests.cpu": "2", "limits.cpu": "1500m"},
            ["ResourceQuota requests.cpu (2) should be less than limits.cpu (1500m)"],
        ),
        (
            {"memory": "2Gi", "limits.memory": "1Gi"},
            ["ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)"],
        ),
        ({"cpu": "9", "requests.cpu": "1", "limits.cpu": "2"}, []),
        ({"requests.cpu": "2", "limits.cpu": "2"}, []),
        ({"requests.cpu": "2"}, []),
    ],
)
def test_requests_of_a_quota_are_under_its_limits(hard: Json, texts: list[str]) -> None:
    """A new quota is warned of, a changed one is not."""
    body = {"spec": {"hard": hard}}
    assert warned(QUOTAS, body) == texts
    obj = made(QUOTAS, body)
    assert warnings(QUOTAS, obj, obj) == []


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            QUOTAS,
            {
                "spec": {
                    "scopeSelector": {"matchExpressions": [{"scopeName": "a<", "operator": "x&"}]}
                }
            },
            (
                'spec.scopeSelector.matchExpressions.operator: Invalid value: "x\\u0026": not a '
                "valid selector operator"
            ),
        ),
        (
            resource("pods"),
            {"spec": {"restartPolicy": "a&b"}},
            (
                'spec.restartPolicy: Unsupported value: "a\\u0026b": supported values: "Always", '
                '"OnFailure", "Never"'
            ),
        ),
        (
            resource("rolebindings", "rbac.authorization.k8s.io"),
            {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "a&b", "name": "n"}},
            'roleRef.kind: Unsupported value: "a&b": supported values: "Role", "ClusterRole"',
        ),
        (
            resource("poddisruptionbudgets", "policy"),
            {"spec": {"minAvailable": "<1"}},
            (
                'spec.minAvailable: Invalid value: "\\u003c1": a valid percent string must be a '
                "numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
                "validation is '[0-9]+%')"
            ),
        ),
    ],
)
def test_texts_of_named_types_are_told_as_json(kind: Kind, body: Json, message: str) -> None:
    """Go prints a plain string by %q, and one of a type of its own as JSON."""
    assert message in refused(kind, body)


@pytest.mark.parametrize("case", recorded("", "limitranges", "resourcequotas"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
