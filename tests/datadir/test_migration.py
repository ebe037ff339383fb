"""What copies between SQLite and etcd have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from etcdworld import SECRET, configured

from kubetrio.datadir.migration import EtcdPlace, MigrationError, folder_of, is_copied, open_cipher
from kubetrio.env import Env
from kubetrio.store.cipher import NoCipher
from kubetrio.tls.pki import Pki


@pytest.mark.parametrize(
    ("key", "copied"),
    [
        (SECRET, True),
        ("/registry/example.com/widgets/default/w", True),
        ("/registry/ranges/servicenodeports", False),
        ("/registry/masterleases/10.0.0.1", False),
        ("/kubetrio/encrypted", False),
    ],
)
def test_which_keys_are_copied(key: str, *, copied: bool) -> None:
    """Those of objects that clients see."""
    assert is_copied(key) is copied


def test_a_place(certificates: Pki) -> None:
    """It names files for TLS, and Events alone have a time to live."""
    file = certificates.ca.cert
    place = EtcdPlace(servers=("https://a:1",), ca=file, event_ttl_s=60)
    assert place.client.endpoints == ("https://a:1",)
    assert place.client.tls.ca == file
    assert (place.ttl_s("/registry/events/a/b"), place.ttl_s(SECRET)) == (60, 0)
    assert folder_of(SECRET) == "/registry/secrets/"


def test_a_place_that_is_none() -> None:
    """The error names the flag."""
    with pytest.raises(MigrationError, match="--etcd-servers: ftp://a: not a URL of etcd"):
        assert EtcdPlace(servers=("ftp://a",)).client


async def test_ciphers(tmp_path: Path) -> None:
    """By a file, or none; errors name the flag."""
    async with open_cipher(None, Env()) as cipher:
        assert isinstance(cipher, NoCipher)
    async with open_cipher(configured(tmp_path / "a.yaml"), Env()) as cipher:
        assert cipher.covers(SECRET)
    with pytest.raises(MigrationError, match="--encryption-provider-config"):
        async with open_cipher(tmp_path / "none", Env()):
            raise AssertionError("it is not opened")
