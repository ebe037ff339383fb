"""Client certificates of others, signed with the server's authority."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kubetrio.tls.clients import issue
from kubetrio.tls.pki import PkiError, ensure

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def test_a_certificate_says_who_and_until_when(tmp_path: Path) -> None:
    """Its key fits, and the server's authority has signed it, for clients alone."""
    ensure(tmp_path, now=NOW, hosts=())
    made = issue(tmp_path, "alice", ("devs", "a b"), NOW, 3600.0)
    cert = x509.load_pem_x509_certificate(made.certificate)
    oid = x509.NameOID
    assert [each.value for each in cert.subject.get_attributes_for_oid(oid.COMMON_NAME)] == [
        "alice"
    ]
    groups = [each.value for each in cert.subject.get_attributes_for_oid(oid.ORGANIZATION_NAME)]
    assert groups == ["devs", "a b"]
    assert cert.not_valid_after_utc == made.until == NOW + dt.timedelta(hours=1)
    assert load_pem_private_key(made.key, None).public_key() == cert.public_key()
    ca = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    cert.verify_directly_issued_by(ca)
    usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]


def test_it_does_not_outlive_the_authority(tmp_path: Path) -> None:
    """Which signs nothing that is valid for longer."""
    ensure(tmp_path, now=NOW, hosts=())
    ca = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    assert issue(tmp_path, "a", (), NOW, 1e10 / 2).until == ca.not_valid_after_utc


@pytest.mark.parametrize("names", [("", ()), ("a" * 65, ()), ("a", ("",)), ("a", ("g" * 65,))])
def test_names_that_do_not_fit(names: tuple[str, tuple[str, ...]], tmp_path: Path) -> None:
    """RFC 5280 bounds them."""
    with pytest.raises(ValueError, match="has not 1 to 64 characters"):
        issue(tmp_path, *names, NOW, 60.0)


def test_an_authority_that_cannot_sign(tmp_path: Path) -> None:
    """Its key is elsewhere, or damaged: the file and the next step are told."""
    with pytest.raises(PkiError, match="start the server once"):
        issue(tmp_path, "a", (), NOW, 60.0)
    ensure(tmp_path, now=NOW, hosts=())
    (tmp_path / "ca.key").write_bytes(b"none")
    with pytest.raises(PkiError, match="cannot be used"):
        issue(tmp_path, "a", (), NOW, 60.0)
