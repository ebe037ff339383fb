"""Warnings about pods."""

from __future__ import annotations

import pytest
from checks.helpers import CONTAINER, Json, made, pod, resource, warned

from kubetrio.resources.validation import warnings

PODS = resource("pods")
BETA = "beta.kubernetes.io/arch"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"terminationGracePeriodSeconds": -1}, []),  # made 1 before anyone is warned
        (
            {"nodeSelector": {BETA: "x"}},
            [
                (
                    f'spec.nodeSelector[{BETA}]: deprecated since v1.14; use "kubernetes.io/arch" '
                    f"instead"
                )
            ],
        ),
        (
            {
                "containers": [
                    {**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
                ]
            },
            [
                (
                    'spec.containers[0].env[1]: hides previous definition of "A", which may be '
                    "dropped "
                    "when using apply"
                )
            ],
        ),
        (
            {
                "containers": [
                    {
                        **CONTAINER,
                        "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}],
                    }
                ]
            },
            [],
        ),
        (
            {
                "containers": [
                    {**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 80}]}
                ]
            },
            [
                (
                    "spec.containers[0].ports[1]: duplicate port definition with "
                    "spec.containers[0].ports[0]"
                )
            ],
        ),
        (
            {"volumes": [{"name": "v", "rbd": {"monitors": ["a"], "image": "b"}}]},
            ["spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+"],
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            ['spec.imagePullSecrets[1].name: duplicate name "a"'],
        ),
        (
            {"hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]},
            ['spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'],
        ),
    ],
)
def test_pod(spec: Json, expected: list[str]) -> None:
    """What is surely not meant is told."""
    assert warned(PODS, pod(**spec)) == expected


def test_template_path() -> None:
    """Warnings about a template name it."""
    body = {
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                **pod(terminationGracePeriodSeconds=-1),
            },
        }
    }
    assert warned(resource("deployments", "apps"), body) == [
        (
            "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are "
            "invalid and will be treated as 1"
        )
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"externalIPs": ["1.1.1.1"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            {"externalName": "a"},
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
        (
            {"loadBalancerIP": "::ffff:1.2.3.4"},
            [
                (
                    'spec.loadBalancerIP: non-standard IP address "::ffff:1.2.3.4" will be '
                    "considered "
                    'invalid in a future Kubernetes release: use "1.2.3.4"'
                )
            ],
        ),
    ],
)
def test_service(spec: Json, expected: list[str]) -> None:
    """Members of services that do nothing are told."""
    body = {"spec": {"ports": [{"port": 80}], **spec}}
    assert warned(resource("services"), body) == expected


def test_updates() -> None:
    """Updates of pods are never warned of, those of owners when something changed."""
    bad = {"terminationGracePeriodSeconds": -1, "containers": [CONTAINER]}
    owner = {"metadata": {"name": "x", "generation": 1}, "spec": {"template": {"spec": bad}}}
    newer = {**owner, "metadata": {"name": "x", "generation": 2}}
    kind = resource("deployments", "apps")
    assert warnings(kind, owner, owner) == []
    assert len(warnings(kind, newer, owner)) == 1
    single = {"metadata": {"name": "x"}, "spec": bad}
    assert warnings(PODS, single, single) == []


def test_negative_history() -> None:
    """A StatefulSet that keeps all its revisions is warned of."""
    body = {"metadata": {"name": "x"}, "spec": {"revisionHistoryLimit": -1}}
    assert warnings(resource("statefulsets", "apps"), body, None) == [
        (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value "
            ">= 0 is recommended"
        )
    ]


_ITEMS = [{"key": "a", "path": "test"}, {"key": "b", "path": "test/file"}]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        (
            {"configMap": {"name": "m", "items": _ITEMS}},
            ['volume "v" (ConfigMap "m"): overlapping paths: "test/file" with "test"'],
        ),
        (
            {"secret": {"secretName": "s", "items": [_ITEMS[0], {"key": "c", "path": "test/"}]}},
            ['volume "v" (Secret "s"): overlapping paths: "test" with "test"'],
        ),
        ({"configMap": {"name": "m", "items": [_ITEMS[0], {"key": "c", "path": "tests"}]}}, []),
        (
            {
                "projected": {
                    "sources": [
                        {"configMap": {"name": "m", "items": _ITEMS[:1]}},
                        {"serviceAccountToken": {"path": "test", "expirationSeconds": 600}},
                    ]
                }
            },
            [
                (
                    'volume "v" (Projected): overlapping paths: "test" (ServiceAccountToken) with '
                    '"test" (ConfigMap "m")'
                )
            ],
        ),
        (
            {"projected": {"sources": [{}]}},
            ['volume "v" (Projected) has no sources provided'],
        ),
    ],
)
def test_files_that_hide_each_other(volume: Json, expected: list[str]) -> None:
    """Files of one volume that share a path, or are below each other."""
    assert warned(PODS, pod(volumes=[{"name": "v", **volume}])) == expected


def test_status_is_warned_of_by_itself() -> None:
    """A write of the status warns of its addresses, and of nothing in the spec."""
    obj = made(PODS, pod(nodeSelector={BETA: "x"}))
    assert warnings(PODS, obj, obj, "status") == []
    obj["status"]["podIPs"] = [{"ip": "::ffff:1.2.3.4"}]
    assert warnings(PODS, obj, obj, "status") == [
        (
            'status.podIPs[0].ip: non-standard IP address "::ffff:1.2.3.4" will be considered '
            'invalid in a future Kubernetes release: use "1.2.3.4"'
        )
    ]
    deployments = resource("deployments", "apps")
    assert warnings(deployments, {"metadata": {}}, {"metadata": {}}, "scale") == []


def _ported(name: str, *ports: Json) -> Json:
    return {**CONTAINER, "name": name, "ports": list(ports)}


def test_a_name_of_a_port_is_there_once() -> None:
    spec = {
        "initContainers": [_ported("i", {"containerPort": 1, "name": "p"})],
        "containers": [
            _ported("a", {"containerPort": 2, "name": "p"}, {"containerPort": 3}),
            _ported("b", {"containerPort": 4, "name": "q"}),
        ],
    }
    first = "spec.initContainers[0].ports[0]"
    assert warned(PODS, pod(**spec)) == [
        (
            f'spec.containers[0].ports[0]: duplicate port name "p" with {first}, services and '
            f"probes that select ports by name will use {first}"
        )
    ]


def test_addresses_are_warned_of_last() -> None:
    spec = {
        "hostAliases": [{"ip": "010.0.0.1"}],
        "dnsConfig": {"nameservers": ["1.2.3.04"]},
        "containers": [_ported("a", *({"containerPort": 1} for _ in "ab"))],
    }
    texts = warned(PODS, pod(**spec))
    assert [text.partition(":")[0] for text in texts] == [
        "spec.containers[0].ports[1]",
        "spec.dnsConfig.nameservers[0]",
        "spec.hostAliases[0].ip",
    ]


def test_an_annotation_that_says_what_the_pod_says_is_not_warned_of() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    profile = {"type": "Localhost", "localhostProfile": "p"}

    def texts(note: str) -> list[str]:
        template = {
            "metadata": {"annotations": {key: note}, "labels": {"a": "b"}},
            **pod(securityContext={"appArmorProfile": profile}),
        }
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        return warned(resource("deployments", "apps"), {"spec": spec})

    assert texts("localhost/p") == []
    assert texts("unconfined") == [
        (
            f"spec.template.metadata.annotations[{key}]: deprecated since v1.30; "
            'use the "appArmorProfile" field instead'
        )
    ]


def test_the_first_member_of_a_projected_source_counts() -> None:
    items = {"name": "n", "items": [{"key": "k", "path": "p"}]}
    volume = {"name": "v", "projected": {"sources": [{"configMap": items}, {"secret": items}]}}
    assert len(warned(PODS, pod(volumes=[volume]))) == 1
    volume = {"name": "v", "projected": {"sources": [{"configMap": items, "secret": items}]}}
    assert warned(PODS, pod(volumes=[volume])) == []
