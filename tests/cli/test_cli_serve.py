"""The command `serve`: starts that fail say why in one line, and leave nothing behind."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import trio

from kubetrio import kubeconfig
from kubetrio.cli import main
from kubetrio.cli.serve import _say
from kubetrio.config import Config, Serving
from kubetrio.config.flag import rows
from kubetrio.config.kinds import FILE, FILES
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.server import open_server
from kubetrio.store.errors import ChecksumMismatch, Undecodable


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Where the server would keep things."""
    return tmp_path / "data"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line of a server that does not start."""
    assert main(["serve", *map(str, arguments)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if line.startswith("kubetrio: ")]
    assert len(lines) == 1, said.err
    assert "Traceback" not in said.err
    return lines[0]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--name", ""),
        ("--tls-san", "über"),
        ("--max-requests-inflight", "-1"),
        ("--min-request-timeout", "-1"),
        ("--request-timeout", "-1s"),
        ("--service-cluster-ip-range", "10.0.0.0/24,10.1.0.0/24"),
        ("--service-account-issuer", ""),
        ("--service-account-max-token-expiration", "59m"),
        ("--service-account-jwks-uri", "http://keys.example"),
        ("--kubelet-preferred-address-types", "a b"),
        ("--kubelet-timeout", "0s"),
    ],
)
def test_a_value_that_cannot_be_is_one_line(
    capsys: pytest.CaptureFixture[str], data_dir: Path, flag: str, value: str
) -> None:
    """By the name of the flag, and before anything is made."""
    line = refused(capsys, "--data-dir", data_dir, f"{flag}={value}")
    assert line.startswith(f"kubetrio: {flag}: ")
    assert not data_dir.exists()


def test_what_is_missing_stops_the_start(
    capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    """Exit code 1, one line for each flag, and nothing on the disk."""
    flags = ("--egress-selector-config-file", "e.yaml", "--runtime-config=api/all=true")
    assert main(["serve", "--data-dir", str(data_dir), *flags]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    one, other = said.err.splitlines()
    assert one.startswith("kubetrio: --egress-selector-config-file: connections to nodes")
    assert other.startswith("kubetrio: --runtime-config: the versions of APIs that are served are")
    assert not data_dir.exists()


def test_what_changes_nothing_is_a_warning(
    capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    """With its reason; the rest of the command line decides whether the server starts."""
    flags = ("--watch-cache-sizes", "pods#1", "--bind-address", "192.0.2.1")
    assert main(["serve", "--data-dir", str(data_dir), *flags]) == 1
    warned, line = capsys.readouterr().err.splitlines()
    assert warned.startswith("W")
    assert 'flag="--watch-cache-sizes" because="watches share one window' in warned
    assert "192.0.2.1:6443" in line


def test_port_in_use(capsys: pytest.CaptureFixture[str], data_dir: Path) -> None:
    """The line says which address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = refused(capsys, "--data-dir", data_dir, "--secure-port", port)
    assert line == f"kubetrio: cannot listen on 127.0.0.1:{port}: Address already in use"
    assert not data_dir.exists()


FILE_FLAGS = [
    row.flag.name for row in rows(Config) if row.flag.name and row.flag.kind in (FILE, FILES)
]


ALSO = {
    "tls-cert-file": ["--tls-private-key-file=nowhere"],
    "tls-private-key-file": ["--tls-cert-file=nowhere"],
    "oidc-ca-file": ["--oidc-issuer-url=https://x", "--oidc-client-id=x"],
    "cluster-signing-cert-file": ["--cluster-signing-key-file=nowhere"],
    "cluster-signing-key-file": ["--cluster-signing-cert-file=nowhere"],
    "proxy-client-cert-file": ["--proxy-client-key-file=nowhere"],
    "proxy-client-key-file": ["--proxy-client-cert-file=nowhere"],
    "kubelet-client-certificate": ["--kubelet-client-key=nowhere"],
    "kubelet-client-key": ["--kubelet-client-certificate=nowhere"],
    "authorization-policy-file": ["--authorization-mode=ABAC"],
    "authorization-webhook-config-file": ["--authorization-mode=Webhook"],
    "service-account-key-file": ["--service-account-signing-key-file=nowhere"],
    "service-account-signing-key-file": ["--service-account-key-file=nowhere"],
    "audit-webhook-config-file": ["--audit-policy-file=nowhere"],
}
"""What a flag goes together with."""


@pytest.mark.parametrize("name", FILE_FLAGS)
def test_a_file_that_is_not_there_stops_the_start(
    capsys: pytest.CaptureFixture[str], data_dir: Path, name: str
) -> None:
    """Whatever flag names it, nothing is written."""
    flags = (f"--{name}=nowhere", *ALSO.get(name, ()))
    line = refused(capsys, "--data-dir", data_dir, "--secure-port=0", *flags)
    assert "nowhere" in line
    assert not data_dir.exists()


def test_an_audit_log_is_not_begun_by_a_start_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path
) -> None:
    """A later file is bad."""
    log, policy = tmp_path / "audit.log", tmp_path / "policy"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    flags = (
        f"--audit-log-path={log}",
        f"--audit-policy-file={policy}",
        "--token-auth-file=nowhere",
    )
    assert "nowhere" in refused(capsys, "--data-dir", data_dir, "--secure-port=0", *flags)
    assert not log.exists()
    assert not data_dir.exists()


def test_a_kubeconfig_that_cannot_be_written_stops_the_start(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path
) -> None:
    """Before anything is made."""
    flags = ("--write-kubeconfig", tmp_path / "none" / "config")
    line = refused(capsys, "--data-dir", data_dir, "--secure-port=0", *flags)
    assert str(tmp_path / "none" / "config") in line
    assert not data_dir.exists()


@pytest.mark.parametrize("port", ["0", "6443"])
def test_another_servers_entry_stops_the_start(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    port: str,
) -> None:
    """Before anything is made: its certificates cannot be this server's, which has none yet."""
    shared = tmp_path / "config"
    monkeypatch.setenv("KUBECONFIG", str(shared))
    kubeconfig.merge(shared, kubeconfig.build("default", "https://192.0.2.1:1", b"a", b"b", b"c"))
    before = shared.read_bytes()
    flags = ("--merge-kubeconfig", f"--secure-port={port}")
    line = refused(capsys, "--data-dir", data_dir, *flags)
    assert "kubetrio-default for https://192.0.2.1:1, which is another server" in line
    assert shared.read_bytes() == before
    assert not data_dir.exists()


def test_address_of_somebody_else(capsys: pytest.CaptureFixture[str], data_dir: Path) -> None:
    """An address that is not this machine's."""
    line = refused(capsys, "--data-dir", data_dir, "--bind-address", "192.0.2.1")
    assert "192.0.2.1:6443" in line


def test_data_dir_below_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A directory that cannot be made; the line names it."""
    (tmp_path / "file").write_text("")
    line = refused(capsys, "--data-dir", tmp_path / "file" / "data")
    assert str(tmp_path / "file") in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_data_dir_not_writable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the directory."""
    tmp_path.chmod(0o500)
    try:
        assert str(tmp_path) in refused(capsys, "--data-dir", tmp_path / "data")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("content", [b"not a database, rather a letter" * 100, b"x"])
def test_foreign_database(
    capsys: pytest.CaptureFixture[str], data_dir: Path, content: bytes
) -> None:
    """A file that is not ours is named and left as it is."""
    from kubetrio.store.sqlite.database import FILE_NAME

    data_dir.mkdir()
    (data_dir / FILE_NAME).write_bytes(content)
    line = refused(capsys, "--data-dir", data_dir, "--secure-port", "0")
    assert FILE_NAME in line
    assert (data_dir / FILE_NAME).read_bytes() == content


def test_damaged_database_that_was_closed_in_order(
    capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    """It is met while the server reads its own objects; the line says what to do."""
    from kubetrio.config import Config, Serving
    from kubetrio.server import open_server
    from kubetrio.store.sqlite.database import FILE_NAME, PAGE_BYTES

    async def run() -> None:
        async with open_server(Config(data_dir=data_dir, serving=Serving(secure_port=0))):
            pass

    trio.run(run)
    path = data_dir / FILE_NAME
    content = path.read_bytes()
    begin, end = 8 * PAGE_BYTES, 10 * PAGE_BYTES  # what opening does not read
    path.write_bytes(content[:begin] + b"\xa5" * (end - begin) + content[end:])
    line = refused(capsys, "--data-dir", data_dir, "--secure-port", "0")
    assert "is damaged" in line
    assert "restore a backup or move it away" in line


def test_lost_writes(capsys: pytest.CaptureFixture[str], data_dir: Path) -> None:
    """The line names the flag that accepts it."""
    data_dir.mkdir(mode=0o700)
    (data_dir / "kubetrio.head").write_text("00000000000000000042 synced boot\n")
    line = refused(capsys, "--data-dir", data_dir, "--secure-port", "0")
    assert line.endswith("or go on without them with --accept-data-loss")


def test_bad_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the file."""
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    flags = ["--tls-cert-file", bad, "--tls-private-key-file", bad]
    assert "bad.pem" in refused(capsys, "--data-dir", tmp_path / "data", *flags)


def test_certificate_and_key_of_different_pairs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, certificates: object
) -> None:
    """The line names a file."""
    made = tmp_path / "pki"
    from kubetrio.tls import pki

    assert isinstance(certificates, pki.Pki)
    made.mkdir()
    flags = [
        "--tls-cert-file",
        certificates.serving.cert,
        "--tls-private-key-file",
        certificates.admin.key,
    ]
    line = refused(capsys, "--data-dir", tmp_path / "data", *flags)
    assert certificates.serving.cert.name in line or certificates.admin.key.name in line


def test_certificate_without_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both or none."""
    line = refused(capsys, "--data-dir", tmp_path / "data", "--tls-cert-file", "cert.pem")
    assert "--tls-private-key-file" in line


def test_bad_client_ca(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the file."""
    bad = tmp_path / "ca.pem"
    bad.write_text("no certificate")
    assert "ca.pem" in refused(capsys, "--data-dir", tmp_path / "d", "--client-ca-file", bad)


def test_token_file_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the flag and the file."""
    missing = tmp_path / "tokens.csv"
    line = refused(capsys, "--data-dir", tmp_path / "d", "--token-auth-file", missing)
    assert "--token-auth-file" in line
    assert "tokens.csv" in line


def test_bad_token_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the file; no secret is printed."""
    bad = tmp_path / "tokens.csv"
    bad.write_text("secret,admin\n")
    line = refused(
        capsys, "--data-dir", tmp_path / "d", "--secure-port", "0", "--token-auth-file", bad
    )
    assert "tokens.csv" in line
    assert "secret" not in line


async def _started_once(data_dir: Path) -> None:
    async with open_server(Config(data_dir=data_dir, serving=Serving(secure_port=0))):
        pass


@pytest.mark.parametrize("fault", [Fault.FULL, Fault.SYNC])
@pytest.mark.parametrize("again", [False, True])
def test_a_disk_that_takes_nothing(
    capsys: pytest.CaptureFixture[str], data_dir: Path, fault: Fault, again: bool
) -> None:
    """One line, wherever the start notices: a first one, or one at another port."""
    if again:
        trio.run(_started_once, data_dir)
    with FaultyDisk() as disk:
        disk.fault = fault
        refused(capsys, "--data-dir", data_dir, "--secure-port", "0")


def test_bad_service_range(capsys: pytest.CaptureFixture[str], data_dir: Path) -> None:
    """The line names the flag."""
    line = refused(capsys, "--data-dir", data_dir, "--service-cluster-ip-range", "banana")
    assert "--service-cluster-ip-range" in line


def test_kubeconfig_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The line names the file."""
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "kubeconfig"
    assert (
        main(
            [
                "serve",
                "--data-dir",
                str(tmp_path / "d"),
                "--secure-port",
                "0",
                "--write-kubeconfig",
                str(target),
            ]
        )
        == 1
    )
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert str(tmp_path / "file") in said


def test_a_value_that_keeps_the_server_from_starting(capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, once."""
    unreadable = Undecodable("illegal base64 data at input byte 0")
    unreadable.key = "/registry/services/specs/default/x"
    _say(unreadable)
    _say(ChecksumMismatch("/registry/a", 7))
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "kubetrio: /registry/services/specs/default/x cannot be read, and the server does not "
        "start without it: illegal base64 data at input byte 0"
    )
    assert second.count("/registry/a") == 1
