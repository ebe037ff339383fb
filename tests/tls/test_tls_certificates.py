"""What certificates say."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from kubetrio.tls import pki
from kubetrio.tls.certificates import CA_LIFETIME, bundle

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A certificate that begins with 2026."""
    directory = tmp_path_factory.mktemp("authority")
    return pki.ensure(directory, now=NOW, hosts=[]).ca.cert.read_text()


def test_a_bundle_has_each_authority_once(authority: str, certificates: pki.Pki) -> None:
    """In the order in which they first appear, without what is between them."""
    other = certificates.ca.cert.read_text()
    text = f"# ours\n{authority}\n\n# theirs\n{other}{authority}"
    assert bundle(text, NOW.timestamp()) == authority + other


def test_a_bundle_has_no_authority_that_ended(authority: str) -> None:
    """An end within the last five minutes is forgiven."""
    end = (NOW + CA_LIFETIME).timestamp()
    assert bundle(authority, end + 290) == authority
    assert bundle(authority, end + 310) == ""


def test_a_damaged_certificate_is_an_error(tmp_path: Path) -> None:
    """Rather than one less."""
    damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    with pytest.raises(ValueError, match="damaged"):
        bundle(damaged, NOW.timestamp())
