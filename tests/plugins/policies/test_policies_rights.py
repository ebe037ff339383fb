"""Parameters of policies: whoever has them read may read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess

GROUP = "admissionregistration.k8s.io"
PATH = f"/apis/{GROUP}/v1"
BOB = UserInfo("bob", "u1", ("devs",), {"a/b": ("x", "y")})
SHOWN = "&{bob u1 [devs system:authenticated] map[a/b:[x y]]}"
WRITES = rule("*", groups=(GROUP,))
SECRET = {"apiVersion": "v1", "kind": "Secret"}
PATCH = {"Content-Type": "application/merge-patch+json"}
DEPLOYMENTS = {
    "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
    "resources": ["deployments"],
}  # fmt: skip
REF = {"name": "s", "namespace": "default", "parameterNotFoundAction": "Deny"}
KINDS = ["validatingadmissionpolic", "mutatingadmissionpolic"]


def policy(collection: str, param_kind: dict[str, str] | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"matchConstraints": {"resourceRules": [DEPLOYMENTS]}}
    if param_kind:
        spec["paramKind"] = param_kind
    if collection.startswith("v"):
        spec["validations"] = [{"expression": "true"}]
    else:
        patch = {"expression": "Object{}"}
        spec["mutations"] = [{"patchType": "ApplyConfiguration", "applyConfiguration": patch}]
        spec["reinvocationPolicy"] = "Never"
    return {"metadata": {"name": "p"}, "spec": spec}


def binding(collection: str, ref: dict[str, Any] | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"policyName": "p"}
    if ref:
        spec["paramRef"] = ref
    if collection.startswith("v"):
        spec["validationActions"] = ["Deny"]
    return {"metadata": {"name": "b"}, "spec": spec}


def refused(answer: Answer) -> str:
    assert answer.status == 422, answer.json()
    (cause,) = answer.json()["details"]["causes"]
    return f"{cause['field']}: {cause['message']}"


@asynccontextmanager
async def somebody(server: InProcess, *rules: dict[str, Any]) -> AsyncIterator[Client]:
    await grant(server, BOB, WRITES, *rules)
    async with server.connect(certificate=BOB) as client:
        yield client


@pytest.mark.parametrize("name", KINDS)
async def test_a_policy_needs_all_parameters(server: InProcess, name: str) -> None:
    """Refused in kube-apiserver's words; what there was before may stay, and go."""
    path = f"{PATH}/{name}ies"
    async with server.connect() as admin, somebody(server) as bob:
        answer = await bob.request("POST", path, json=policy(name, SECRET))
        words = (
            f'spec.paramKind: Forbidden: user {SHOWN} must have "get" permission on all objects '
            "of the referenced paramKind (kind=Secret, apiVersion=v1)"
        )
        assert refused(answer) == words
        assert (await bob.request("POST", path, json=policy(name, None))).status == 201
        body = {"spec": {"paramKind": SECRET}}
        assert refused(await bob.request("PATCH", f"{path}/p", PATCH, json=body)) == words
        assert (await admin.request("PATCH", f"{path}/p", PATCH, json=body)).status == 200
        labels = {"metadata": {"labels": {"a": "b"}}}
        assert (await bob.request("PATCH", f"{path}/p", PATCH, json=labels)).status == 200
        other = {"spec": {"paramKind": {"kind": "ConfigMap"}}}
        assert "(kind=ConfigMap" in refused(
            await bob.request("PATCH", f"{path}/p", PATCH, json=other)
        )
        none = {"spec": {"paramKind": None}}
        assert (await bob.request("PATCH", f"{path}/p", PATCH, json=none)).status == 200


@pytest.mark.parametrize("name", KINDS)
async def test_a_policy_of_somebody_who_may_read_them(server: InProcess, name: str) -> None:
    """The rule names the resource, in all namespaces."""
    reads = rule("get", groups=("",), resources=("secrets",))
    async with somebody(server, reads) as bob:
        path = f"{PATH}/{name}ies"
        assert (await bob.request("POST", path, json=policy(name, SECRET))).status == 201
        unknown = {**policy(name, {"apiVersion": "x.io/v1", "kind": "Absent"})}
        unknown["metadata"] = {"name": "q"}
        assert "kind=Absent" in refused(await bob.request("POST", path, json=unknown))


@pytest.mark.parametrize("name", KINDS)
async def test_a_binding_needs_its_parameters(server: InProcess, name: str) -> None:
    """`get` of the named one, `list` where a selector chooses; each time that it is written."""
    path = f"{PATH}/{name}ybindings"
    reads = rule("get", groups=("",), resources=("secrets",), names=("mine",))
    async with server.connect() as admin, somebody(server, reads) as bob:
        policies = f"{PATH}/{name}ies"
        assert (await admin.request("POST", policies, json=policy(name, SECRET))).status == 201
        said = f"spec.paramRef: Forbidden: user {SHOWN} does not have"
        where = "permission on the object referenced by paramRef"
        answer = await bob.request("POST", path, json=binding(name, REF))
        assert refused(answer) == f'{said} "get" {where}'
        selected = {"selector": {}, "parameterNotFoundAction": "Deny"}
        answer = await bob.request("POST", path, json=binding(name, selected))
        assert refused(answer) == f'{said} "list" {where}'
        assert (await admin.request("POST", path, json=binding(name, REF))).status == 201
        labels = {"metadata": {"labels": {"a": "b"}}}
        answer = await bob.request("PATCH", f"{path}/b", PATCH, json=labels)
        assert refused(answer) == f'{said} "get" {where}'
        mine = {"spec": {"paramRef": {"name": "mine"}}}
        assert (await bob.request("PATCH", f"{path}/b", PATCH, json=mine)).status == 200


@pytest.mark.parametrize("name", KINDS)
async def test_a_binding_to_what_nobody_knows(server: InProcess, name: str) -> None:
    """Then it takes the right to everything."""
    path = f"{PATH}/{name}ybindings"
    async with server.connect() as admin, somebody(server) as bob:
        answer = await bob.request("POST", path, json=binding(name, REF))
        lacks = (
            f'to determine minimum required permissions and user {SHOWN} does not have "get" '
            "permission for all groups, versions and resources"
        )
        start = "spec.paramRef: Forbidden: unable to"
        assert refused(answer) == f"{start} get policy p {lacks}"
        unknown = policy(name, {"apiVersion": "x.io/v1", "kind": "Absent"})
        assert (await admin.request("POST", f"{PATH}/{name}ies", json=unknown)).status == 201
        answer = await bob.request("POST", path, json=binding(name, REF))
        assert refused(answer) == f"{start} resolve paramKind &{{x.io/v1 Absent}} {lacks}"
