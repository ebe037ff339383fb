"""What controllers of a server that listens sign and publish is good at that server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubetrio.client.client import Client
from kubetrio.config import Authentication, Config, Serving
from kubetrio.env import Env
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target
from kubetrio.server import Server, open_server

Object = dict[str, Any]
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
CERTIFICATES = "certificates.k8s.io/v1"


async def until(client: Client, api_version: str, kind: str, name: str, member: str) -> Object:
    """An object of the namespace ``default``, or of none, as soon as it has a member."""
    of = client.kind(api_version, kind)
    namespace = "default" if of.namespaced else ""
    with trio.fail_after(20):
        async with client.watch(of, namespace, field_selector=f"metadata.name={name}") as events:
            async for event in events:
                if member in event.object or member in event.object.get("status", {}):
                    return event.object
    raise AssertionError("the watch ended")


async def who_am_i(server: Server, env: Env, ca: bytes, **credentials: Any) -> Object:
    """What the server takes somebody for, over TLS."""
    url = f"{server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    target = Target(url=url, ca=ca, **credentials)
    outgoing = Outgoing(env)
    try:
        headers = [("Content-Type", "application/json")]
        answer = await outgoing.call(
            target, body=orjson.dumps(REVIEW), headers=headers, timeout_s=10, most_bytes=1 << 20
        )
    finally:
        await outgoing.close()
    assert answer.status == 201, answer.body
    user: Object = orjson.loads(answer.body)["status"]["userInfo"]
    return user


def signing_request(key: ec.EllipticCurvePrivateKey) -> Object:
    """A request for a client certificate of alice of the devs."""
    parts = [(NameOID.ORGANIZATION_NAME, "devs"), (NameOID.COMMON_NAME, "alice")]
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
    csr = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    pem = csr.public_bytes(serialization.Encoding.PEM)
    return {
        "apiVersion": CERTIFICATES,
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "alice"},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }


async def approve(client: Client, made: Object) -> None:
    """Approve a request, as ``kubectl certificate approve`` does."""
    condition = {"type": "Approved", "status": "True", "reason": "KubectlApprove", "message": ""}
    approved = {**made, "status": {"conditions": [condition]}}
    await client.update(approved, subresource="approval")


async def test_a_signed_certificate_is_good_at_the_server(tmp_path: Path) -> None:
    """Its owner is who the request says, and the published authorities verify the server."""
    env = Env()
    async with open_server(
        Config(data_dir=tmp_path, serving=Serving(secure_port=0)), env
    ) as server:
        client = server.client()
        key = ec.generate_private_key(ec.SECP256R1())
        await approve(client, await client.create(signing_request(key)))
        signed = await until(
            client, CERTIFICATES, "CertificateSigningRequest", "alice", "certificate"
        )
        root = await until(client, "v1", "ConfigMap", "kube-root-ca.crt", "data")
        assert root["data"]["ca.crt"].encode() == server.root_bundle()
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        certificate = base64.b64decode(signed["status"]["certificate"])
        user = await who_am_i(
            server, env, root["data"]["ca.crt"].encode(), certificate=certificate, key=pem
        )
        assert user["username"] == "alice"
        assert user["groups"] == ["devs", "system:authenticated"]


async def test_a_token_in_a_secret_is_good_at_the_server(tmp_path: Path) -> None:
    """The default account is there, its token says who it is, beside what verifies the server."""
    env = Env()
    async with open_server(
        Config(data_dir=tmp_path, serving=Serving(secure_port=0)), env
    ) as server:
        client = server.client()
        await until(client, "v1", "ServiceAccount", "default", "metadata")
        annotations = {"kubernetes.io/service-account.name": "default"}
        meta = {"name": "t", "namespace": "default", "annotations": annotations}
        kind = "kubernetes.io/service-account-token"
        await client.create({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": meta})
        data = (await until(client, "v1", "Secret", "t", "data"))["data"]
        ca, token = (base64.b64decode(data[name]) for name in ("ca.crt", "token"))
        user = await who_am_i(server, env, ca, token=token.decode())
        assert user["username"] == "system:serviceaccount:default:default"


async def test_pods_run_as_the_default_account(tmp_path: Path) -> None:
    """In a namespace that was made just before, too."""
    async with open_server(Config(data_dir=tmp_path, serving=Serving(secure_port=0))) as server:
        client = server.client()
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
        await client.create(space)
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "new"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }  # fmt: skip
        made = await client.create(pod)
        assert made["spec"]["serviceAccountName"] == "default"
        assert "kube-api-access" in made["spec"]["volumes"][0]["name"]


async def test_without_an_authority_that_it_believes_nothing_is_signed(tmp_path: Path) -> None:
    """A server that believes other authorities does not sign with its own."""
    async with open_server(Config(data_dir=tmp_path, serving=Serving(secure_port=0))) as server:
        other = tmp_path / "other.crt"
        other.write_bytes(server.pki.ca.cert.read_bytes())
    config = Config(
        data_dir=tmp_path,
        serving=Serving(secure_port=0),
        auth=Authentication(client_ca_file=other),
    )
    async with open_server(config) as server:
        client = server.client()
        key = ec.generate_private_key(ec.SECP256R1())
        await approve(client, await client.create(signing_request(key)))
        with pytest.raises(trio.TooSlowError), trio.fail_after(0.5):
            await until(client, CERTIFICATES, "CertificateSigningRequest", "alice", "certificate")
