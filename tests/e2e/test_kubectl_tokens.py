"""Tokens of service accounts with kubectl: made, used, and worthless with what they belong to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from kubectl_runner import Kubectl, Said, needs_kubectl

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [pytest.mark.e2e, needs_kubectl]
POD = '{"spec":{"serviceAccountName":"ci","containers":[{"name":"c","image":"i"}]}}'
BOOTSTRAP = """\
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: abcdef
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  auth-extra-groups: system:bootstrappers:workers
"""


def whoami(kubectl: Kubectl, token: str, home: Path) -> Said:
    """Whose token it is; without the certificate of the administrator, which would come first."""
    config = yaml.safe_load(kubectl.server.kubeconfig.read_text())
    config["users"] = [{"name": "bearer", "user": {"token": token.strip()}}]
    config["contexts"] = [
        {"name": "c", "context": {"cluster": config["clusters"][0]["name"], "user": "bearer"}}
    ]
    config["current-context"] = "c"
    file = home / "bearer.yaml"
    file.write_text(yaml.safe_dump(config))
    return kubectl.try_("--kubeconfig", str(file), "auth", "whoami", "-o", "json")


def of_pod(name: str) -> tuple[str, ...]:
    return ("create", "token", "ci", "--bound-object-kind=Pod", f"--bound-object-name={name}")


def test_a_token_is_good_as_long_as_its_account(start_server: Start, tmp_path: Path) -> None:
    """The next request after a deletion is refused, also when another of that name comes."""
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    kubectl("create", "serviceaccount", "ci")
    token = kubectl("create", "token", "ci", "--duration=10m")
    who = whoami(kubectl, token, tmp_path)
    assert who.code == 0, who
    user = yaml.safe_load(who.out)["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:ci"
    assert user["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]
    kubectl("delete", "serviceaccount", "ci")
    assert "Unauthorized" in whoami(kubectl, token, tmp_path).err
    kubectl("create", "serviceaccount", "ci")
    assert "Unauthorized" in whoami(kubectl, token, tmp_path).err


def test_a_token_is_good_as_long_as_its_pod(start_server: Start, tmp_path: Path) -> None:
    """Its name and uid are told; a restart of the server changes nothing."""
    server = start_server(tmp_path / "data")
    kubectl = Kubectl(server, tmp_path)
    kubectl("create", "serviceaccount", "ci")
    kubectl("run", "web", "--image=i", f"--overrides={POD}")
    token = kubectl(*of_pod("web"))
    server.stop()
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    who = whoami(kubectl, token, tmp_path)
    assert who.code == 0, who
    extra = yaml.safe_load(who.out)["status"]["userInfo"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["web"]
    kubectl("delete", "pod", "web", "--force", "--grace-period=0")
    assert "Unauthorized" in whoami(kubectl, token, tmp_path).err


def test_keys_of_ones_own(start_server: Start, tmp_path: Path) -> None:
    """A key signs, several verify: tokens outlive its replacement, not its removal."""
    pem, none = form.Encoding.PEM, form.NoEncryption()
    old, new = tmp_path / "old.pem", tmp_path / "new.pem"
    for file, key in (
        (old, rsa.generate_private_key(65537, 2048)),
        (new, ec.generate_private_key(ec.SECP384R1())),
    ):
        file.write_bytes(key.private_bytes(pem, form.PrivateFormat.PKCS8, none))
    verifying, signing = "--service-account-key-file", "--service-account-signing-key-file"

    def started(signer: Path, *verifiers: Path) -> tuple[ServerProcess, Kubectl]:
        flags = [f"{verifying}={file}" for file in verifiers]
        server = start_server(tmp_path / "data", f"{signing}={signer}", *flags)
        return server, Kubectl(server, tmp_path)

    server, kubectl = started(old, old)
    kubectl("create", "serviceaccount", "ci")
    token = kubectl("create", "token", "ci")
    server.stop()
    server, kubectl = started(new, new, old)
    assert whoami(kubectl, token, tmp_path).code == 0
    assert whoami(kubectl, kubectl("create", "token", "ci"), tmp_path).code == 0
    keys = yaml.safe_load(kubectl("get", "--raw", "/openid/v1/jwks"))["keys"]
    assert [key["alg"] for key in keys] == ["ES384", "RS256"]
    server.stop()
    server, kubectl = started(new, new)
    assert "Unauthorized" in whoami(kubectl, token, tmp_path).err


def test_the_longest_life_of_tokens(start_server: Start, tmp_path: Path) -> None:
    """Whoever asks for more gets a warning, and less."""
    server = start_server(tmp_path / "data", "--service-account-max-token-expiration=1h")
    kubectl = Kubectl(server, tmp_path)
    kubectl("create", "serviceaccount", "ci")
    said = kubectl.try_("create", "token", "ci", "--duration=5h", "-o", "json")
    assert "requested expiration of 18000 seconds shortened to 3600 seconds" in said.err
    answer = yaml.safe_load(said.out)
    assert answer["spec"]["expirationSeconds"] == 3600
    until = dt.datetime.fromisoformat(answer["status"]["expirationTimestamp"])
    assert until - dt.datetime.now(dt.UTC) < dt.timedelta(hours=1, minutes=1)


def test_bootstrap_tokens(start_server: Start, tmp_path: Path) -> None:
    """They are taken where the flag says so, and nowhere else."""
    server = start_server(tmp_path / "data", "--enable-bootstrap-token-auth")
    kubectl = Kubectl(server, tmp_path)
    kubectl("apply", "-f", "-", stdin=BOOTSTRAP)
    token = "abcdef.0123456789abcdef"
    who = whoami(kubectl, token, tmp_path)
    assert who.code == 0, who
    user = yaml.safe_load(who.out)["status"]["userInfo"]
    assert user["username"] == "system:bootstrap:abcdef"
    assert "system:bootstrappers:workers" in user["groups"]
    server.stop()
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    assert "Unauthorized" in whoami(kubectl, token, tmp_path).err
