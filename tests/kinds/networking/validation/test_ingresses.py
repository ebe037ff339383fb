"""Checks of ingresses."""

from __future__ import annotations

import pytest
from checks.helpers import Json, made, refused, refused_change, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

INGRESSES = resource("ingresses", "networking.k8s.io")
BACKEND: Json = {"service": {"name": "s", "port": {"number": 80}}}


def path(**parts: object) -> Json:
    item = {"path": "/", "pathType": "Prefix", "backend": BACKEND, **parts}
    return {"rules": [{"http": {"paths": [item]}}]}


PATH = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            path(path="/a/.."),
            [f"{PATH}.path: Invalid value: \"/a/..\": cannot end with '/..'"],
        ),
        (
            path(path="x", pathType="ImplementationSpecific"),
            [f'{PATH}.path: Invalid value: "x": must be an absolute path'],
        ),
        (
            path(pathType="Regex"),
            [
                (
                    f'{PATH}.pathType: Unsupported value: "Regex": supported values: "Exact", '
                    '"ImplementationSpecific", "Prefix"'
                )
            ],
        ),
        (
            path(backend={}),
            [f'{PATH}.backend: Invalid value: "": resource or service backend is required'],
        ),
        (
            path(backend={**BACKEND, "resource": {"kind": "K", "name": "n"}}),
            [f'{PATH}.backend: Invalid value: "": cannot set both resource and service backends'],
        ),
        (
            path(backend={"resource": {}}),
            [
                f"{PATH}.backend.resource.kind: Required value",
                f"{PATH}.backend.resource.name: Required value",
            ],
        ),
        (
            path(backend={"service": {"name": "", "port": {"name": "a--b"}}}),
            [
                f"{PATH}.backend.service.name: Required value",
                (
                    f'{PATH}.backend.service.port.name: Invalid value: "a--b": must not contain '
                    "consecutive hyphens"
                ),
            ],
        ),
        ({"rules": [{"http": {"paths": []}}]}, ["spec.rules[0].http.paths: Required value"]),
    ],
)
def test_paths_and_backends(spec: Json, expected: list[str]) -> None:
    """Paths and backends of rules are checked."""
    assert refused(INGRESSES, {"spec": spec}) == expected


@pytest.mark.parametrize(("host", "good"), [("*.a.b", True), ("a.*.b", False), ("A.b", False)])
def test_hosts(host: str, good: bool) -> None:
    """Hosts of rules and certificates are subdomains or wildcards."""
    spec = {"defaultBackend": BACKEND, "rules": [{"host": host}], "tls": [{"hosts": [host]}]}
    found = [line.partition(":")[0] for line in refused(INGRESSES, {"spec": spec})]
    assert found == ([] if good else ["spec.rules[0].host", "spec.tls[0].hosts[0]"])


def test_service_names_may_start_with_a_digit() -> None:
    """Names of services are labels as RFC 1123 has them."""
    spec = {"defaultBackend": {"service": {"name": "1s", "port": {"number": 80}}}}
    assert refused(INGRESSES, {"spec": spec}) == []


def test_the_annotation_for_the_class() -> None:
    """The old annotation gets a warning alone, and must agree with the member."""
    annotation = {"kubernetes.io/ingress.class": "a"}
    body: Json = {"metadata": {"annotations": annotation}, "spec": {"defaultBackend": BACKEND}}
    assert warned(INGRESSES, body) == [
        (
            'annotation "kubernetes.io/ingress.class" is deprecated, please use '
            "'spec.ingressClassName' instead"
        )
    ]
    body["spec"]["ingressClassName"] = "b"
    assert refused(INGRESSES, body) == [
        (
            'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match '
            "`ingressClassName` when both are specified"
        )
    ]


def test_status() -> None:
    """Addresses and names of the load balancer are checked where the status is written."""
    old = made(INGRESSES, {"spec": {"defaultBackend": BACKEND}})
    new = {**old, "status": {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}]}}}
    found = refused_change(INGRESSES, old, new, "status")
    assert found == [
        (
            'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)"
        ),
        (
            'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS '
            "name, not an IP address"
        ),
    ]


@pytest.mark.parametrize("case", recorded("networking.k8s.io", "ingresses", "ingressclasses"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
