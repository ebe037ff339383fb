"""envtest as controller-runtime runs it, step by step: certificates, flags, probes, signals.

Source: controller-runtime 0.24, pkg/internal/testing: addr.Suggest, certs.TinyCA,
controlplane.APIServer, controlplane.Etcd and process.State.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOST = "127.0.0.1"
TIMEOUT_S = 20.0  # of a start and of a stop
POLL_S = 0.1
HELP_FLAG = r"(?m)^\s*--{}\b"


def free_port() -> int:
    """A port that nobody listened on just now."""
    with socket.create_server((HOST, 0)) as one:
        return int(one.getsockname()[1])


class TinyCA:
    """An authority that signs what it is asked to, for a week."""

    def __init__(self, common_name: str = "envtest-environment") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = self._subject(common_name, ["envtest"])
        self._serial = 0
        usage = x509.KeyUsage(
            digital_signature=True, key_encipherment=True, key_cert_sign=True,
            content_commitment=False, data_encipherment=False, key_agreement=False,
            crl_sign=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        self._cert = self._sign(
            self._name,
            self._key.public_key(),
            (x509.BasicConstraints(ca=True, path_length=None), True),
            (usage, True),
            (x509.SubjectAlternativeName([x509.DNSName(common_name)]), False),
        )

    @property
    def cert(self) -> bytes:
        """Its certificate, PEM."""
        return self._cert.public_bytes(Encoding.PEM)

    @property
    def key(self) -> bytes:
        """Its key, PEM."""
        return _pem(self._key)

    def serving(self) -> tuple[bytes, bytes]:
        """Certificate and key of a server on this machine."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(HOST))]
        return self._pair(
            self._subject("localhost", ["envtest"]),
            ExtendedKeyUsageOID.SERVER_AUTH,
            (x509.SubjectAlternativeName(names), False),
        )

    def client(self, name: str, groups: Sequence[str] = ()) -> tuple[bytes, bytes]:
        """Certificate and key of a user."""
        return self._pair(self._subject(name, groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _pair(
        self, subject: x509.Name, use: x509.ObjectIdentifier, *more: tuple[Any, bool]
    ) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(
            digital_signature=True, key_encipherment=True, key_cert_sign=False,
            content_commitment=False, data_encipherment=False, key_agreement=False,
            crl_sign=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        extensions = ((usage, True), (x509.ExtendedKeyUsage([use]), False), *more)
        made = self._sign(subject, key.public_key(), *extensions)
        return made.public_bytes(Encoding.PEM), _pem(key)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *extensions: tuple[Any, bool]
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        self._serial += 1
        builder = x509.CertificateBuilder(
            self._name, subject, key, self._serial, now, now + dt.timedelta(hours=168)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())

    @staticmethod
    def _subject(name: str, groups: Sequence[str]) -> x509.Name:
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class Program:
    """A program of the directory, in a process group of its own.

    Args:
        path: of the program.
        environment: of the process.
        log: what it prints goes there.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], log: Path) -> None:
        self._path = path
        self._environment = dict(environment)
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def has_flag(self, name: str) -> bool:
        """Whether its help knows a flag."""
        said = subprocess.run(
            [self._path, "--help"],
            env=self._environment,
            check=True,
            timeout=TIMEOUT_S,
            capture_output=True,
            text=True,
        )
        return re.search(HELP_FLAG.format(name), said.stdout + said.stderr) is not None

    def start(self, flags: Sequence[str]) -> None:
        """Start it."""
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [self._path, *flags],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )

    def wait_until_ok(self, port: int, path: str, *, tls: bool) -> None:
        """Ask for a path until the answer is 200, without looking at certificates."""
        assert self.process is not None
        for _ in range(int(TIMEOUT_S / POLL_S)):
            with contextlib.suppress(OSError, http.client.HTTPException):
                if ok(port, path, tls=tls):
                    return
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(POLL_S)
                raise AssertionError(f"it ended: {self.log.read_text()}")
        raise AssertionError(f"not ready in time: {self.log.read_text()}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)

    def left(self) -> bool:
        """Whether something of its process group still runs; kills it."""
        if self.process is None:
            return False
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.process.wait(TIMEOUT_S)
        return True


def ok(port: int, path: str, *, tls: bool) -> bool:
    """Whether a GET of a stranger is answered with 200."""
    connection: http.client.HTTPConnection
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(HOST, port, timeout=TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
    with contextlib.closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status == 200


class ControlPlane:
    """etcd and kube-apiserver of one test environment.

    Args:
        assets: ``KUBEBUILDER_ASSETS``.
        logs: directory for what the programs print.
        environment: of their processes.
        data_dir: etcd's; a new one that goes with the environment when None.
        flags: what the test configures besides.
    """

    def __init__(
        self,
        assets: Path,
        logs: Path,
        environment: Mapping[str, str],
        data_dir: Path | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        logs.mkdir(exist_ok=True)
        self.etcd = Program(assets / "etcd", environment, logs / "etcd.log")
        self.apiserver = Program(assets / "kube-apiserver", environment, logs / "apiserver.log")
        self._temporary = environment["TMPDIR"]
        self._given = data_dir
        self._flags = flags
        self._directories: list[Path] = []
        self._ca, self._users = TinyCA(), TinyCA()
        self.port = 0

    def _directory(self) -> Path:
        made = Path(tempfile.mkdtemp(prefix="k8s_test_framework_", dir=self._temporary))
        self._directories.append(made)
        return made

    def start(self) -> None:
        """Start both, and wait for each."""
        client, peer = free_port(), free_port()
        url = f"http://{HOST}:{client}"
        flags = {
            "advertise-client-urls": url,
            "data-dir": str(self._given or self._directory()),
            "listen-client-urls": url,
            "listen-peer-urls": f"http://{HOST}:{peer}",
        }
        if self.etcd.has_flag("unsafe-no-fsync"):
            flags["unsafe-no-fsync"] = "true"
        self.etcd.start([f"--{name}={value}" for name, value in flags.items()])
        self.etcd.wait_until_ok(client, "/health", tls=False)
        self._start_apiserver(url)
        self.apiserver.wait_until_ok(self.port, "/healthz", tls=True)

    def _start_apiserver(self, etcd_url: str) -> None:
        at = self._directory()
        self.port = free_port()
        serving, tokens = self._ca.serving(), TinyCA()
        for name, content in {
            "apiserver.crt": serving[0],
            "apiserver.key": serving[1],
            "sa-signer.crt": tokens.cert,
            "sa-signer.key": tokens.key,
            "client-cert-auth-ca.crt": self._users.cert,
        }.items():
            (at / name).write_bytes(content)
        flags = {
            "allow-privileged": "true",
            "authorization-mode": "RBAC",
            "bind-address": HOST,
            "cert-dir": str(at),
            "client-ca-file": f"{at}/client-cert-auth-ca.crt",
            "disable-admission-plugins": "ServiceAccount",
            "etcd-servers": etcd_url,
            "secure-port": str(self.port),
            "service-account-issuer": f"https://{HOST}:{self.port}/",
            "service-account-key-file": f"{at}/sa-signer.crt",
            "service-account-signing-key-file": f"{at}/sa-signer.key",
            "service-cluster-ip-range": "10.0.0.0/24",
        }
        if self.apiserver.has_flag("insecure-port"):
            flags["insecure-port"] = "0"
        given = [f"--{name}={value}" for name, value in flags.items()]
        self.apiserver.start([*given, *self._flags])

    def stop(self) -> None:
        """Stop both and take away what they were given."""
        try:
            assert self.apiserver.stop() == 0
            assert self.etcd.stop() == 0
        finally:
            for directory in self._directories:
                rmtree(directory)

    @property
    def ca(self) -> bytes:
        """What signed the server's certificate, PEM."""
        return self._ca.cert

    def pair(self, name: str, *groups: str) -> tuple[bytes, bytes]:
        """Certificate and key of a user."""
        return self._users.client(name, groups)

    def user(self, name: str, *groups: str) -> User:
        """A user with a client certificate."""
        return User(self.port, self.ca, self.pair(name, *groups))


class User:
    """Somebody with a client certificate.

    Args:
        port: of the server on this machine.
        ca: authority of the server.
        pair: certificate and key.
    """

    def __init__(self, port: int, ca: bytes, pair: tuple[bytes, bytes]) -> None:
        self._port = port
        self._context = ssl.create_default_context(cadata=ca.decode())
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(pair))
            file.flush()
            self._context.load_cert_chain(file.name)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of an answer."""
        with self.stream(path, method, body) as answer:
            return answer.status, json.loads(answer.read())

    @contextlib.contextmanager
    def stream(
        self, path: str, method: str = "GET", body: Any = None
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer, to be read as it comes."""
        connection = http.client.HTTPSConnection(
            HOST, self._port, timeout=TIMEOUT_S, context=self._context
        )
        with contextlib.closing(connection):
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                yield answer
