"""The page of rights says what is true: each request of its table, with and without the right."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
import trio

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess, open_api

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "rights.md"
NS = "/api/v1/namespaces/default"
RBAC = "rbac.authorization.k8s.io"
CSR = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
FOOS = "/apis/example.test/v1/namespaces/default/foos"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEVICE = {"driver": "d.io", "pool": "p", "device": "x"}
ALLOCATED = {"allocation": {"devices": {"results": [{"request": "r", **DEVICE}]}}}
MATCHED = {
    "resourceRules": [
        {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
         "resources": ["deployments"]},
    ]
}  # fmt: skip
DEFINITION = {
    "metadata": {"name": "foos.example.test"},
    "spec": {
        "group": "example.test",
        "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}  # fmt: skip


def policy(parameters: bool = True) -> dict[str, Any]:
    spec = {"matchConstraints": MATCHED, "validations": [{"expression": "true"}]}
    kind = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}} if parameters else {}
    return {"metadata": {"name": "p"}, "spec": {**spec, **kind}}


def role(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": [rule("get", groups=("",), resources=("pods",))]}


class Case(NamedTuple):
    """A request of the table.

    Args:
        first: what lets it in.
        further: what it needs beside.
        send: makes the request.
        allowed: status with both rights.
        prepare: paths and objects that are made before.
    """

    first: dict[str, Any]
    further: dict[str, Any]
    send: tuple[str, str, Mapping[str, str], Any]
    allowed: int
    prepare: tuple[tuple[str, Any], ...] = ()


def on(verb: str, group: str, resource: str) -> dict[str, Any]:
    return rule(verb, groups=(group,), resources=(resource,))


def request_of(conditions: str) -> dict[str, Any]:
    condition = {"type": conditions, "status": "True", "reason": "r", "message": "m"}
    return {"status": {"conditions": [condition]}}


def streamed(what: str) -> Case:
    target = f"{NS}/pods/p/{what}?command=ls&stdout=true&ports=80"
    pods = f"pods/{what}"
    return Case(
        on("get", "", pods), on("create", "", pods), ("GET", target, SOCKET, None), 400,
        ((f"{NS}/pods", POD),),
    )  # fmt: skip


CASES: dict[str, Case] = {
    "`PUT` that creates": Case(
        on("update", "", "services"), on("create", "", "services"),
        ("PUT", f"{NS}/services/web", {},
         {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}), 201,
    ),
    "`PUT` to the status of a Service that is not there": Case(
        on("update", "", "services/status"), on("create", "", "services/status"),
        ("PUT", f"{NS}/services/web/status", {},
         {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}), 201,
    ),
    "apply that creates": Case(
        on("patch", "", "secrets"), on("create", "", "secrets"),
        ("PATCH", f"{NS}/secrets/s?fieldManager=t", APPLY,
         {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}), 201,
    ),
    "apply that creates a custom resource": Case(
        on("patch", "example.test", "foos"), on("create", "example.test", "foos"),
        ("PATCH", f"{FOOS}/f?fieldManager=t", APPLY,
         {"apiVersion": "example.test/v1", "kind": "Foo", "metadata": {"name": "f"}}), 201,
        (("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION),),
    ),
    "`exec` by WebSocket": streamed("exec"),
    "`attach` by WebSocket": streamed("attach"),
    "`portforward` by WebSocket": streamed("portforward"),
    "role with rules that its writer does not have": Case(
        on("create", RBAC, "clusterroles"), on("escalate", RBAC, "clusterroles"),
        ("POST", f"/apis/{RBAC}/v1/clusterroles", {}, role("more")), 201,
    ),
    "binding of a role whose rules its writer does not have": Case(
        on("create", RBAC, "clusterrolebindings"), on("bind", RBAC, "clusterroles"),
        ("POST", f"/apis/{RBAC}/v1/clusterrolebindings", {},
         {"metadata": {"name": "more"},
          "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "more"}}), 201,
        ((f"/apis/{RBAC}/v1/clusterroles", role("more")),),
    ),
    "approval of a certificate": Case(
        on("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
        on("approve", "certificates.k8s.io", "signers"),
        ("PUT", f"{CSR}/jane/approval", {}, request_of("Approved")), 200,
    ),
    "signing of a certificate": Case(
        on("update", "certificates.k8s.io", "certificatesigningrequests/status"),
        on("sign", "certificates.k8s.io", "signers"),
        ("PUT", f"{CSR}/jane/status", {}, request_of("Failed")), 200,
    ),
    "allocation of a claim": Case(
        on("patch", "resource.k8s.io", "resourceclaims/status"),
        on("patch", "resource.k8s.io", "resourceclaims/binding"),
        ("PATCH", f"{CLAIMS}/c/status", MERGE, {"status": ALLOCATED}), 200,
    ),
    "devices of a claim": Case(
        on("patch", "resource.k8s.io", "resourceclaims/status"),
        on("arbitrary-node:patch", "resource.k8s.io", "resourceclaims/driver"),
        ("PATCH", f"{CLAIMS}/c/status", MERGE, {"status": {"devices": [DEVICE]}}), 200,
    ),
    "policy with parameters": Case(
        on("create", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
        on("get", "", "configmaps"), ("POST", POLICIES, {}, policy()), 201,
    ),
    "policy binding with parameters": Case(
        on("create", "admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        on("get", "", "configmaps"),
        ("POST", BINDINGS, {},
         {"metadata": {"name": "b"},
          "spec": {"policyName": "p", "validationActions": ["Deny"],
                   "paramRef": {"name": "c", "namespace": "default",
                                "parameterNotFoundAction": "Allow"}}}), 201,
        ((POLICIES, policy()),),
    ),
    "impersonation of a user": Case(
        on("get", "", "nodes"), on("impersonate", "", "users"),
        ("GET", f"{NS}/configmaps", {"Impersonate-User": "reader"}, None), 200,
    ),
}  # fmt: skip


def rows() -> dict[str, list[str]]:
    """The first table of the page, by its first column."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text().partition("## What is one right")[0].splitlines():
        if line.startswith("| ") and not line.startswith(("| ---", "| request ")):
            first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            found[first] = rest
    return found


ROWS = rows()


def test_every_row_is_a_case() -> None:
    """What the page says is tried, and what is tried the page says."""
    assert list(ROWS) == list(CASES)


async def _prepare(server: InProcess, admin: Client, case: Case) -> None:
    for path, obj in case.prepare:
        assert (await admin.request("POST", path, json=obj)).status == 201
    target = case.send[1]
    if target.startswith(FOOS):
        with trio.fail_after(10):
            while (await admin.request("GET", FOOS)).status != 200:  # noqa: ASYNC110  (seen outside)
                await trio.sleep(0.01)
    if target.startswith(CSR):
        await _ask_for_a_certificate(admin)
    if target.startswith(CLAIMS):
        exactly = {"deviceClassName": "c"}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        body = {"metadata": {"name": "c"}, "spec": spec}
        assert (await admin.request("POST", CLAIMS, json=body)).status == 201
        if "devices" in case.send[3]["status"]:
            body = {"status": ALLOCATED}
            assert (await admin.request("PATCH", target, MERGE, json=body)).status == 200
    if "Impersonate-User" in case.send[2]:
        await grant(server, UserInfo("reader"), on("list", "", "configmaps"))


async def _ask_for_a_certificate(admin: Client) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    key = ec.generate_private_key(ec.SECP256R1())
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    text = asked.public_bytes(serialization.Encoding.PEM)
    spec = {
        "request": base64.b64encode(text).decode(),
        "signerName": "example.test/signer",
        "usages": ["client auth"],
    }
    body = {"metadata": {"name": "jane"}, "spec": spec}
    answer = await admin.request("POST", CSR, json=body)
    assert answer.status == 201, answer.json()


async def _send(server: InProcess, admin: Client, case: Case, user: str, dry: str) -> Answer:
    method, target, headers, body = case.send
    if target.startswith(CSR):
        stored = (await admin.request("GET", f"{CSR}/jane")).json()
        body = {**stored, **body}
    if dry and method != "GET":
        target += f"{'&' if '?' in target else '?'}dryRun=All"
    async with server.connect(certificate=UserInfo(user)) as client:
        if body is None:
            return await client.request(method, target, headers)
        headers = headers or {"Content-Type": "application/json"}
        return await client.request(method, target, headers, orjson.dumps(body))


@pytest.mark.parametrize("row", CASES)
async def test_a_request_needs_both_rights(row: str) -> None:
    """Refused with either, as the page says, and let through with both."""
    case = CASES[row]
    answer_without = int(ROWS[row][2])
    # Definitions are served by what a server does of its own accord.
    kept = case.send[1].startswith(FOOS)
    async with open_api(kept=kept) as server, server.connect() as admin:
        await _prepare(server, admin, case)
        await grant(server, UserInfo("first"), case.first)
        await grant(server, UserInfo("further"), case.further)
        await grant(server, UserInfo("both"), case.first, case.further)
        for dry in ("", "dry"):
            answer = await _send(server, admin, case, "first", dry)
            assert answer.status == answer_without, answer.json()
            if row != "impersonation of a user":
                answer = await _send(server, admin, case, "further", dry)
                assert answer.status == 403, answer.json()
        answer = await _send(server, admin, case, "both", "")
        assert answer.status == case.allowed, answer.json()
