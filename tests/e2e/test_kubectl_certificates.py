"""A user by `kubectl certificate approve`, from the key to the first request."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [pytest.mark.e2e, needs_kubectl]


def asked_for(name: str, request: bytes) -> str:
    """A CertificateSigningRequest as a manifest."""
    return yaml.safe_dump(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "signerName": "kubernetes.io/kube-apiserver-client",
                "request": base64.b64encode(request).decode(),
                "usages": ["client auth"],
            },
        }
    )


def test_a_certificate_is_approved_signed_and_used(start_server: Start, tmp_path: Path) -> None:
    """It is signed once it is approved, and its owner has the rights of its name."""
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    key = ec.generate_private_key(ec.SECP256R1())
    names = [
        x509.NameAttribute(NameOID.COMMON_NAME, "jane"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "devs"),
    ]
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    request = made.sign(key, hashes.SHA256()).public_bytes(form.Encoding.PEM)
    kubectl("apply", "-f", "-", stdin=asked_for("jane", request))
    assert "Pending" in kubectl("get", "csr", "jane")
    kubectl("certificate", "approve", "jane")
    kubectl("wait", "csr/jane", "--for=jsonpath={.status.certificate}", "--timeout=20s")
    certificate = kubectl.json("get", "csr", "jane")["status"]["certificate"]
    pem = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )  # fmt: skip
    config = yaml.safe_load(kubectl.server.kubeconfig.read_text())
    shown = {
        "client-certificate-data": certificate,
        "client-key-data": base64.b64encode(pem).decode(),
    }
    config["users"] = [{"name": "jane", "user": shown}]
    cluster = config["clusters"][0]["name"]
    config["contexts"] = [{"name": "jane", "context": {"cluster": cluster, "user": "jane"}}]
    config["current-context"] = "jane"
    file = tmp_path / "jane.yaml"
    file.write_text(yaml.safe_dump(config))
    jane = kubectl.using("--kubeconfig", str(file))
    who = jane.json("auth", "whoami")["status"]["userInfo"]
    assert (who["username"], who["groups"]) == ("jane", ["devs", "system:authenticated"])
    assert "forbidden" in jane.try_("get", "pods").err
    kubectl("create", "rolebinding", "jane", "--clusterrole=view", "--user=jane")
    assert jane.try_("get", "pods").code == 0


def test_a_denied_one_is_not_signed(start_server: Start, tmp_path: Path) -> None:
    """Nor is one that names the group that may do everything."""
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    key = ec.generate_private_key(ec.SECP256R1())
    for name, group in (("bob", "devs"), ("root", "system:masters")):
        names = [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, group),
        ]
        made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
        request = made.sign(key, hashes.SHA256()).public_bytes(form.Encoding.PEM)
        said = kubectl.try_("apply", "-f", "-", stdin=asked_for(name, request))
        assert (said.code == 0) is (name == "bob"), said
    kubectl("certificate", "deny", "bob")
    assert "certificate" not in kubectl.json("get", "csr", "bob")["status"]
