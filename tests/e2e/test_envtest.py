"""What `kubetrio envtest-assets` lays, used as envtest and its likes use it."""

from __future__ import annotations

import datetime as dt
import http.server
import ipaddress
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from control_plane import HOST, ControlPlane, Program, TinyCA, User, free_port
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

pytestmark = pytest.mark.e2e
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
ONE = {"metadata": {"name": "one"}}


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """What the command lays."""
    made = tmp_path / "assets of a test"
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", "envtest-assets", str(made)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"export KUBEBUILDER_ASSETS='{made}'\n"
    return made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of the programs; their temporary files go to a directory that is empty now."""
    (tmp_path / "temporary").mkdir()
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TMPDIR": str(tmp_path / "temporary"),
    }


class Planes:
    """Makes control planes; none outlives the test."""

    def __init__(self, assets: Path, folder: Path, environment: dict[str, str]) -> None:
        self._assets, self._folder, self._environment = assets, folder, environment
        self.made: list[ControlPlane] = []

    def make(self, data_dir: Path | None = None, *flags: str) -> ControlPlane:
        logs = self._folder / f"plane-{len(self.made)}"
        self.made.append(ControlPlane(self._assets, logs, self._environment, data_dir, flags))
        return self.made[-1]


@pytest.fixture
def planes(assets: Path, tmp_path: Path, environment: dict[str, str]) -> Iterator[Planes]:
    """Makes control planes."""
    made = Planes(assets, tmp_path, environment)
    yield made
    for plane in made.made:
        plane.apiserver.left()
        plane.etcd.left()


def names(user: User, path: str) -> list[str]:
    """Names of the objects of a collection."""
    status, found = user.ask("GET", path)
    assert status == 200, found
    return [item["metadata"]["name"] for item in found["items"]]


def known(user: User, path: str) -> bool:
    """Whether there is something at a path."""
    with user.stream(path) as answer:
        return answer.status == 200


def test_an_environment_from_start_to_stop(planes: Planes, environment: dict[str, str]) -> None:
    """Started, used by an administrator and somebody else, stopped, nothing left behind."""
    plane = planes.make()
    plane.start()
    admin, other = plane.user("admin", "system:masters"), plane.user("other")
    assert admin.ask("GET", "/api/v1/namespaces/default")[0] == 200
    status, made = admin.ask("POST", CRDS, CRD)
    assert status == 201, made
    served = "/apis/example.com/v1"
    assert any(known(admin, served) for _ in range(1000))  # envtest looks into discovery, too
    assert [resource["name"] for resource in admin.ask("GET", served)[1]["resources"]] == [
        "widgets"
    ]
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", **ONE}
    assert admin.ask("POST", f"{served}/namespaces/default/widgets", widget)[0] == 201
    status, refused = other.ask("GET", "/api/v1/secrets")
    assert status == 403
    assert 'User "other" cannot list resource "secrets"' in refused["message"]
    plane.stop()
    assert not plane.apiserver.left()
    assert not plane.etcd.left()
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


def test_nothing_happens_that_an_api_server_does_not_do(planes: Planes) -> None:
    """No accounts appear and nothing is collected, unless a flag asks for controllers."""
    bare, whole = planes.make(), planes.make(None, "--controllers=*")
    orphan = {
        "metadata": {
            "name": "orphan",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "made-up"}
            ],
        }
    }
    with ExitStack() as stack:
        for plane in (bare, whole):
            plane.start()
            stack.callback(plane.stop)
            admin = plane.user("admin", "system:masters")
            assert admin.ask("POST", CONFIGMAPS, orphan)[0] == 201
        watch = f"{CONFIGMAPS}?watch=true&resourceVersion=1&fieldSelector=metadata.name%3Dorphan"
        admin = whole.user("admin", "system:masters")
        assert "DELETED" in first_lines(admin, f"{watch}&timeoutSeconds=20", 2)
        assert names(bare.user("admin", "system:masters"), CONFIGMAPS) == ["orphan"]
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        assert names(bare.user("admin", "system:masters"), accounts) == []


def first_lines(user: User, path: str, count: int) -> str:
    """The first lines of a stream."""
    with user.stream(path) as answer:
        return "".join(answer.readline().decode() for _ in range(count))


def test_environments_beside_each_other_are_strangers(planes: Planes) -> None:
    """Two run at a time; each has its own objects and its own users."""
    first, second = planes.make(), planes.make()
    first.start()
    second.start()
    one, two = (plane.user("admin", "system:masters") for plane in (first, second))
    assert one.ask("POST", CONFIGMAPS, ONE)[0] == 201
    assert names(one, CONFIGMAPS) == ["one"]
    assert names(two, CONFIGMAPS) == []
    with pytest.raises(ssl.SSLError, match="certificate verify failed"):
        User(second.port, first.ca, first.pair("admin")).ask("GET", "/api")
    first.stop()
    assert names(two, CONFIGMAPS) == []
    second.stop()


def test_objects_live_as_long_as_the_data_directory(planes: Planes, tmp_path: Path) -> None:
    """They are there again after a start on the same one, also when nobody stopped in order."""
    kept = tmp_path / "kept"
    for number, end in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)):
        plane = planes.make(kept)
        plane.start()
        admin = plane.user("admin", "system:masters")
        assert len(names(admin, CONFIGMAPS)) == number
        made = {"metadata": {"name": f"made-{number}"}}
        assert admin.ask("POST", CONFIGMAPS, made)[0] == 201
        plane.apiserver.stop(end)
        plane.etcd.stop(end)
    assert [entry.name for entry in kept.iterdir()] == ["kubetrio"]


def self_signed(directory: Path, name: str, *attributes: tuple[x509.ObjectIdentifier, str]) -> None:
    """A key and its own certificate, as CertManager of kube-api-test makes them."""
    key = rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(
        subject, subject, key.public_key(), 17, now, now + dt.timedelta(days=365)
    )
    if name == "apiserver":
        names = [x509.IPAddress(ipaddress.ip_address(HOST)), x509.DNSName("kubernetes")]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    (directory / f"{name}.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (directory / f"{name}.key").write_bytes(pem)


def test_the_java_way(assets: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """kube-api-test of fabric8, once jenvtest: its flags, nobody waits for etcd, both are killed.

    Source: EtcdProcess, KubeAPIServerProcess and CertManager of kube-api-test 7.
    """
    home = tmp_path / "kubeapitest"
    home.mkdir()
    oid = x509.oid.NameOID
    self_signed(home, "apiserver", (oid.COMMON_NAME, "example.org"))
    self_signed(
        home, "client", (oid.ORGANIZATION_NAME, "system:masters"), (oid.COMMON_NAME, "kubeapitest")
    )
    etcd_port, peer, port = free_port(), free_port(), free_port()
    url = f"http://0.0.0.0:{etcd_port}"
    etcd = Program(assets / "etcd", environment, tmp_path / "etcd.log")
    server = Program(assets / "kube-apiserver", environment, tmp_path / "apiserver.log")
    try:
        etcd.start([
            "-data-dir", str(tmp_path / "data"), "-wal-dir", str(tmp_path / "wal"),
            "--listen-client-urls", url, "--advertise-client-urls", url,
            "--initial-cluster", f"default=http://localhost:{peer}",
            "--initial-advertise-peer-urls", f"http://localhost:{peer}",
            "--listen-peer-urls", f"http://localhost:{peer}",
        ])  # fmt: skip
        server.start([
            "--min-request-timeout", "300",
            "--cert-dir", str(home), "--secure-port", str(port), "--etcd-servers", url,
            "--authorization-mode", "RBAC", "--service-account-issuer", "https://localhost",
            "--service-account-signing-key-file", str(home / "apiserver.key"),
            "--service-account-signing-key-file", str(home / "apiserver.key"),
            "--service-account-key-file", str(home / "apiserver.key"),
            "--service-account-issuer", str(home / "apiserver.crt"),
            "--disable-admission-plugins", "ServiceAccount",
            "--client-ca-file", str(home / "client.crt"),
            "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged",
        ])  # fmt: skip
        server.wait_until_ok(port, "/readyz", tls=True)
        pair = (home / "client.crt").read_bytes(), (home / "client.key").read_bytes()
        admin = User(port, (home / "apiserver.crt").read_bytes(), pair)
        assert admin.ask("GET", "/api/v1/namespaces/default")[0] == 200
        assert {file.name for file in home.iterdir()} == {
            "apiserver.crt", "apiserver.key", "client.crt", "client.key"
        }  # fmt: skip
    finally:
        for program in (server, etcd):
            with suppress(AssertionError):
                program.stop(signal.SIGKILL)


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("--insecure-port=18080", "there is no port without TLS"),
        ("--runtime-config=api/all=true", "the versions of APIs that are served are fixed"),
        ("--no-such-flag=1", "unknown flag: --no-such-flag"),
    ],
)
def test_what_cannot_be_served_ends_the_start(planes: Planes, flag: str, why: str) -> None:
    """At once and in one line, in place of a test that waits for twenty seconds."""
    with pytest.raises(AssertionError, match=why):
        planes.make(None, flag).start()


def test_a_foreign_etcd_is_found_out(
    assets: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """An API server of kubetrio does not begin on another's etcd, or on none."""
    server = Program(assets / "kube-apiserver", environment, tmp_path / "log")
    with http.server.HTTPServer((HOST, 0), http.server.BaseHTTPRequestHandler) as other:
        server.start([f"--etcd-servers=http://{HOST}:{other.server_port}"])
        other.handle_request()
    assert server.process is not None
    assert server.process.wait(20) == 1
    assert "is not the etcd of kubetrio envtest-assets" in server.log.read_text()


def test_the_programs_say_what_they_are(assets: Path, environment: dict[str, str]) -> None:
    """Whoever asks for a version is not told another product's."""

    def said(name: str) -> str:
        command = [assets / name, "--version"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout

    assert said("kube-apiserver").startswith("Kubernetes v1.36.2+kubetrio")
    assert "in the place of etcd: it keeps no keys" in said("etcd")


def test_a_tiny_authority_signs_what_python_trusts() -> None:
    """The helper itself: its certificate can be loaded as a root."""
    context = ssl.create_default_context(cadata=TinyCA().cert.decode())
    assert len(context.get_ca_certs()) == 1
