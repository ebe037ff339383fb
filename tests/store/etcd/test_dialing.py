"""Endpoints, files for TLS, and the words for what goes wrong."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path

import pytest

from kubetrio.store.etcd.dialing import (
    Endpoint,
    TlsFiles,
    broken,
    check_files,
    context_of,
    endpoint_of,
)
from kubetrio.store.etcd.errors import Unauthenticated, Unavailable
from kubetrio.tls.pki import Pki


@pytest.mark.parametrize(
    ("url", "endpoint", "authority"),
    [
        (
            "https://etcd.example.com:2380",
            ("etcd.example.com", 2380, True),
            "etcd.example.com:2380",
        ),
        ("http://10.0.0.1", ("10.0.0.1", 2379, False), "10.0.0.1:2379"),
        ("http://[fd00::1]:4001/", ("fd00::1", 4001, False), "[fd00::1]:4001"),
        ("127.0.0.1:2379", ("127.0.0.1", 2379, False), "127.0.0.1:2379"),
        ("unix:///run/etcd.sock", ("/run/etcd.sock", 0, False), "localhost"),
        ("unixs:///run/a%20b", ("/run/a b", 0, True), "localhost"),
    ],
)
def test_endpoints(url: str, endpoint: tuple[str, int, bool], authority: str) -> None:
    """As kube-apiserver takes them."""
    found = endpoint_of(url)
    assert found == Endpoint(url, *endpoint)
    assert found.authority == authority


@pytest.mark.parametrize("url", ["ftp://a", "https://", "unix://", "", "http://a:99999"])
def test_what_is_no_endpoint(url: str) -> None:
    """Is refused with its text."""
    with pytest.raises(ValueError, match=url or "not a URL"):
        endpoint_of(url)


def test_files(certificates: Pki, tmp_path: Path) -> None:
    """Peers are checked; what cannot be read is named."""
    admin = certificates.admin
    context = context_of(TlsFiles(certificates.ca.cert, admin.cert, admin.key))
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    absent = tmp_path / "absent"
    for files in (TlsFiles(absent), TlsFiles(certificates.ca.cert, absent, admin.key)):
        with pytest.raises(Unavailable, match=f"cannot read .*{absent}"):
            context_of(files)


def test_files_are_checked_before_anything_is_dialled(certificates: Pki, tmp_path: Path) -> None:
    """What cannot be used is told with its flag and its name."""
    ca, admin = certificates.ca.cert, certificates.admin
    check_files(TlsFiles())
    check_files(TlsFiles(ca, admin.cert, admin.key))
    absent, garbage = tmp_path / "absent", tmp_path / "garbage"
    garbage.write_text("no certificate")
    pair = "--etcd-certfile and --etcd-keyfile"
    for files, text in (
        (TlsFiles(absent), f"cannot read --etcd-cafile {absent}: No such file or directory"),
        (TlsFiles(tmp_path), f"cannot read --etcd-cafile {tmp_path}: Is a directory"),
        (TlsFiles(garbage), f"cannot use --etcd-cafile {garbage}: "),
        (TlsFiles(ca, admin.cert), f"{pair}: one is no use without the other"),
        (TlsFiles(ca, None, admin.key), f"{pair}: one is no use without the other"),
        (TlsFiles(ca, absent, admin.key), f"{pair}: cannot read {absent}: No such file"),
        (TlsFiles(ca, garbage, admin.key), f"{pair}: {garbage} holds no PEM certificate"),
        (TlsFiles(ca, admin.cert, garbage), f"{pair}: {garbage} holds no PEM private key"),
        (TlsFiles(ca, admin.cert, certificates.serving.key), f"{pair}: the key in .* not belong"),
    ):
        with pytest.raises(ValueError, match=f"^{text}"):
            check_files(files)


def test_connections_that_broke() -> None:
    """What is wrong with certificates is told apart, also when it is heard of later."""
    endpoint = endpoint_of("https://a")
    alert = ssl.SSLError(1, "x")
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    refused = broken(alert, endpoint)
    assert isinstance(refused, Unauthenticated)
    assert str(refused) == "https://a: tlsv13 alert certificate required"
    reset = broken(OSError(errno.ECONNRESET, "x"), endpoint)
    assert isinstance(reset, Unavailable)
    assert str(reset) == "https://a: connection reset by peer"
    assert str(broken(ValueError("why"), endpoint)) == "https://a: why"
