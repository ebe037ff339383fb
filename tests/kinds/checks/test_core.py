"""Small kinds of the core group: configuration, nodes, namespaces, limits, claims, events."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubetrio.resources.validation import warnings
from kubetrio.schema.kind import Kind

from .helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
    warned,
)

SECRETS = resource("secrets")
NODES = resource("nodes")
CLAIMS = resource("persistentvolumeclaims")
QUOTAS = resource("resourcequotas")
LIMITS = resource("limitranges")
VOLUMES = resource("persistentvolumes")
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"type": "kubernetes.io/basic-auth"},
            ["data[password]: Required value", "data[username]: Required value"],
        ),
        (
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": ""}},
            ["data[tls.key]: Required value"],
        ),
        (
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "[]"}},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot '
                    "unmarshal array into Go value of type map[string]interface {}"
                )
            ],
        ),
        (
            {"stringData": {"a": "x" * 1_048_577}},
            ["data: Too long: may not be more than 1048576 bytes"],
        ),
        ({"stringData": {"a": "x" * 1_048_576}}, []),
        ({"data": {"a": None}}, []),
        (
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": None}},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
                    "unexpected end of JSON input"
                )
            ],
        ),
    ],
)
def test_secret(body: Json, expected: list[str]) -> None:
    """The type of a secret says what it must hold."""
    assert refused(SECRETS, body) == expected


def test_binary_data_may_be_null() -> None:
    """It has no bytes then."""
    assert refused(resource("configmaps"), {"binaryData": {"a": None}}) == []


def test_tls_secret_without_certificate_is_warned_of() -> None:
    """A TLS secret that holds no PEM is accepted with a warning."""
    text = base64.b64encode(b"x").decode()
    body = {"type": "kubernetes.io/tls", "data": {"tls.crt": text, "tls.key": text}}
    assert warned(SECRETS, body) == ["tls: failed to find any PEM data in certificate input"]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "spec.podCIDRs",
            ["10.1.0.0/24"],
            [
                (
                    "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "
                    '"" to '
                    "valid"
                )
            ],
        ),
        (
            "status.addresses",
            [{"type": "a", "address": "b"}, {"type": "a", "address": "b"}],
            ['status.addresses[1]: Duplicate value: {"Type":"a","Address":"b"}'],
        ),
        (
            "status.capacity",
            {"cpu": "-1"},
            ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        ("spec.unschedulable", True, []),
        (
            "spec.configSource",
            {"configMap": {"name": "n", "namespace": "s"}},
            [("spec.configSource.configMap.kubeletConfigKey: Required value")],
        ),
    ],
)
def test_node_update(path: str, value: Any, expected: list[str]) -> None:
    """Ranges and identity of a node stay once set."""
    old = made(NODES, {"spec": {"podCIDRs": ["10.0.0.0/24"], "podCIDR": "10.0.0.0/24"}})
    part = "status" if path.startswith("status") else ""
    assert refused_change(NODES, old, changed(old, path, value), part) == expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (["10.0.0.0/24", "fd00::/64"], []),
        (
            ["10.0.0.0/24", "10.0.1.0/24"],
            [
                (
                    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no '
                    "more than "
                    "one CIDR for each IP family"
                )
            ],
        ),
        (
            ["10.0.0.1/24"],
            [
                (
                    'spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set '
                    "beyond the "
                    "prefix length"
                )
            ],
        ),
    ],
)
def test_node_ranges(ranges: list[str], expected: list[str]) -> None:
    """One range for each family."""
    assert refused(NODES, {"spec": {"podCIDRs": ranges}}) == expected


@pytest.mark.parametrize(
    ("status", "deleted", "expected"),
    [
        ({"phase": "Active"}, None, []),
        (
            {"phase": "Terminating"},
            None,
            [
                (
                    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if "
                    "`deletionTimestamp` is empty"
                )
            ],
        ),
        ({"phase": "Terminating"}, "2024-01-01T00:00:00Z", []),
    ],
)
def test_namespace_phase(status: Json, deleted: str | None, expected: list[str]) -> None:
    """The phase follows the deletion."""
    kind = resource("namespaces")
    obj = {"metadata": {"name": "x", "deletionTimestamp": deleted}, "status": status}
    assert refused_change(kind, obj, obj, "status") == expected


def test_namespace_finalizers() -> None:
    """Finalizers of namespaces have a domain or are standard ones."""
    kind = resource("namespaces")
    obj = {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes", "a.io/b", "odd"]}}
    assert refused_change(kind, obj, obj, "finalize") == [
        (
            'spec.finalizers[2]: Invalid value: "odd": name is neither a standard finalizer name '
            "nor "
            "is it fully qualified"
        )
    ]


BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}


@pytest.mark.parametrize(
    ("status", "path", "value", "expected"),
    [
        (BOUND, "spec.resources.requests.storage", "3Gi", []),
        (
            BOUND,
            "spec.resources.requests.storage",
            "1Gi",
            [
                (
                    "spec.resources.requests.storage: Forbidden: field can not be less than "
                    "status.capacity"
                )
            ],
        ),
        (BOUND, "spec.resources.requests.storage", "1.5Gi", []),
        ({}, "spec.volumeName", "pv", []),
        ({}, "spec.storageClassName", "fast", []),
        ({}, "spec.volumeMode", "Block", None),
        (BOUND, "spec.volumeAttributesClassName", "gold", []),
    ],
)
def test_claim_update(status: Json, path: str, value: Any, expected: list[str] | None) -> None:
    """A bound claim may grow; nothing else changes."""
    old = changed(made(CLAIMS, {"spec": SPEC}), "status", status)
    found = refused_change(CLAIMS, old, changed(old, path, value))
    if expected is None:
        assert 'volumeMode: Invalid value: "Block": field is immutable' in found
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"dataSourceRef": {"kind": "Thing", "name": "a", "apiGroup": "A_b"}},
            None,
        ),
        (
            {"accessModes": ["Often"]},
            [
                (
                    'spec.accessModes: Unsupported value: "Often": supported values: '
                    '"ReadOnlyMany", '
                    '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
                )
            ],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                (
                    "spec.selector.matchExpressions[0].values: Required value: must be specified "
                    "when "
                    "`operator` is 'In' or 'NotIn'"
                )
            ],
        ),
    ],
)
def test_claim(spec: Json, expected: list[str] | None) -> None:
    """Claims say what they want in the right words."""
    found = refused(CLAIMS, {"spec": {**SPEC, **spec}})
    if expected is None:
        assert found
    else:
        assert found == expected


def test_volume_may_gain_expansion_secret() -> None:
    """The one member of a source that may be added later."""
    csi = {"driver": "d.io", "volumeHandle": "h"}
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    old = made(VOLUMES, {"spec": base})
    secret = {"name": "a", "namespace": "b"}
    new = changed(old, "spec.csi.controllerExpandSecretRef", secret)
    assert refused_change(VOLUMES, old, new) == []
    assert refused_change(VOLUMES, new, changed(new, "spec.csi.controllerExpandSecretRef", None))


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


def test_new_style_event() -> None:
    """An event with a time names who reports it."""
    body = {"involvedObject": {"namespace": "ns"}, "eventTime": "2024-01-01T00:00:00.000000Z"}
    found = refused(resource("events"), body)
    assert "reportingComponent: Required value" in found
    assert "action: Required value" in found


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"declaredFeatures": ["A", "B/c"]}, []),
        (
            {"declaredFeatures": ["B", "A", "A", "a"]},
            [
                (
                    'status.declaredFeatures[1]: Invalid value: "A": list must be sorted '
                    "alphabetically"
                ),
                'status.declaredFeatures[2]: Duplicate value: "A"',
                (
                    'status.declaredFeatures[3]: Invalid value: "a": invalid feature name "a": '
                    "must start with an UpperCamelCase segment, with subsequent segments "
                    "separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain "
                    "only alphanumeric characters and slashes"
                ),
            ],
        ),
        (
            {"nodeInfo": {"swap": {"capacity": 0}}},
            ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
        ),
    ],
)
def test_status_of_a_new_node(status: Json, expected: list[str]) -> None:
    """Nodes register with a status."""
    assert refused(NODES, {"status": status}) == expected


def test_node_is_checked_by_itself_and_as_a_change() -> None:
    """What both look at stands twice in the details."""
    old = made(NODES, {"spec": {}})
    new = changed(old, "spec.taints", [{"key": "k"}])
    assert refused_change(NODES, old, new) == ["metadata.taints[0].effect: Required value"] * 2


def test_mount_options_of_a_volume_that_has_none() -> None:
    """The annotation is for some kinds of volumes."""
    note = "volume.beta.kubernetes.io/mount-options"
    body = {
        "metadata": {"annotations": {note: "ro"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        },
    }
    told = f"metadata.annotations.{note}: Forbidden: may not specify mount options for this volume "
    assert refused(VOLUMES, body) == [f"{told}type"]
    old = made(VOLUMES, body)
    assert refused_change(VOLUMES, old, old) == [f"{told}type"]
    body["spec"]["nfs"] = {"server": "s", "path": "/x"}
    del body["spec"]["hostPath"]
    assert refused(VOLUMES, body) == []


def test_accounts_that_begin_to_enforce_are_warned_about() -> None:
    """Not those that did before, nor those that stop."""
    kind, note = resource("serviceaccounts"), "kubernetes.io/enforce-mountable-secrets"
    enforcing = made(kind, {"metadata": {"annotations": {note: "true"}}})
    plain = made(kind, {})
    told = [
        (
            f"metadata.annotations[{note}]: deprecated in v1.32+; prefer separate namespaces to "
            "isolate access to mounted secrets"
        )
    ]
    assert warnings(kind, enforcing, None) == told
    assert warnings(kind, enforcing, plain) == told
    assert warnings(kind, enforcing, enforcing) == []
    assert warnings(kind, plain, enforcing) == []


def test_scopes_of_a_quota_that_are_gone() -> None:
    """No list is null."""
    old = made(QUOTAS, {"spec": {"scopes": ["BestEffort"], "hard": {"pods": "1"}}})
    assert refused_change(QUOTAS, old, changed(old, "spec.scopes", None)) == [
        "spec.scopes: Invalid value: null: field is immutable"
    ]


@pytest.mark.parametrize("name", [None, "gold"])
def test_what_may_change_is_no_change(name: str | None) -> None:
    """The class of a bound claim is not among the changes that are told."""
    old = made(CLAIMS, {"spec": SPEC})
    old["status"] = BOUND
    new = changed(changed(old, "spec.volumeMode", "Block"), "spec.volumeAttributesClassName", name)
    told = "\n".join(refused_change(CLAIMS, old, new))
    assert '+  "volumeMode": "Block"' in told
    assert 'volumeAttributesClassName"' not in told


def test_attributes_class_stays_once_applied() -> None:
    """Before it was, it may go again (KEP-3751)."""
    old = made(CLAIMS, _claim_with_class())
    old["status"]["phase"] = "Bound"
    new = changed(old, "spec.volumeAttributesClassName", None)
    assert refused_change(CLAIMS, old, new) == []
    old["status"]["currentVolumeAttributesClassName"] = "gold"
    assert refused_change(CLAIMS, old, new) == [
        (
            "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        )
    ]


def _claim_with_class() -> Json:
    return {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeAttributesClassName": "gold",
        }
    }


def test_bad_claim_is_told_once_on_update() -> None:
    """A claim is checked as a part of the change."""
    old = made(CLAIMS, _claim_with_class())
    new = changed(old, "spec.volumeMode", "Tape")
    found = refused_change(CLAIMS, old, new)
    text = 'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'
    assert found.count(text) == 1


def test_status_of_a_claim() -> None:
    """Names of members in causes are those of the API."""
    old = made(CLAIMS, _claim_with_class())
    new = changed(old, "status.allocatedResourceStatuses", {"cpu": "NodeResizePending"})
    assert refused_change(CLAIMS, old, new, "status") == [
        ('status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"')
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"flexVolume": {"driver": "a/b"}}, []),
        ({"flexVolume": {}}, ["spec.flexVolume.driver: Required value"]),
        (
            {"local": {"path": "/a"}},
            ["spec.local: Forbidden: may not specify more than 1 volume type"],
        ),
    ],
)
def test_a_second_source_of_a_volume(more: Json, expected: list[str]) -> None:
    """Only the first is looked into, but for the one that upstream does not count."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/a"},
    }
    assert refused(VOLUMES, {"spec": {**spec, **more}}) == expected


def test_ranges_of_a_node_that_cannot_be_read() -> None:
    """They are told of alone, and where they would be a pair."""
    found = refused(NODES, {"spec": {"podCIDR": "10.0.0.0/8", "podCIDRs": ["10.0.0.0/8", "a"]}})
    assert found[0] == (
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with "
        "error:invalid CIDR[1]: <nil> (invalid CIDR address: a)"
    )


def test_the_group_of_a_data_source_is_checked_when_it_is_new() -> None:
    name = "dataSourceRef"
    source = {"apiGroup": "a_b", "kind": "K", "name": "n"}
    body = {"spec": {**SPEC, name: source}}
    assert any("apiGroup: Invalid value" in line for line in refused(CLAIMS, body))
    old = made(CLAIMS, body)
    assert refused_change(CLAIMS, old, changed(old, "metadata.labels", {"a": "b"})) == []
    good = made(CLAIMS, {"spec": SPEC})
    new = changed(good, f"spec.{name}", source)
    assert any("apiGroup: Invalid value" in line for line in refused_change(CLAIMS, good, new))


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
