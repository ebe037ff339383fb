"""Encryption of an engine: which resource a key is of, and what is authenticated."""

from __future__ import annotations

from pathlib import Path

import pytest
from configurations import HEAD, made, rule

from kubetrio.encryption.control import folders
from kubetrio.encryption.enginecipher import VALUES_AT_ONCE, EngineCipher
from kubetrio.env import seeded
from kubetrio.machinery.names import GroupResource
from kubetrio.store.cipher import UNREADABLE, Plain, StoredValue
from kubetrio.store.errors import Unreadable


def cipher(path: Path, *rules: str) -> EngineCipher:
    """The cipher of a file."""
    transforms = made(path / "encryption.yaml", HEAD + "".join(rules))
    return EngineCipher(folders(), transforms.resolve, lambda: transforms.digest, seeded(1))


def value(key: str, data: bytes = b"{}") -> StoredValue:
    return StoredValue(key, key.encode(), data)


@pytest.mark.parametrize(
    ("resources", "key", "encrypted"),
    [
        ("secrets", "/registry/secrets/default/a", True),
        ("secrets", "/registry/configmaps/default/a", False),
        ("services", "/registry/services/specs/default/a", True),
        ("services", "/registry/services/endpoints/default/a", False),
        ("services", "/registry/ranges/servicenodeports", False),
        ("'*.*'", "/registry/ranges/servicenodeports", False),
        ("'*.'", "/registry/masterleases/10.0.0.1", False),
        ("'*.*'", "/registry/example.com/widgets/default/a", True),
        ("widgets.example.com", "/registry/example.com/widgets/default/a", True),
        ("widgets.example.com", "/registry/example.com/gadgets/default/a", False),
        ("'*.apps'", "/registry/deployments/default/a", True),
        ("'*.*'", "/kubetrio/own", False),
    ],
)
async def test_which_resource_a_key_is_of(
    tmp_path: Path, resources: str, key: str, *, encrypted: bool
) -> None:
    """Also of keys that have no resource of the API."""
    one = cipher(tmp_path, rule(resources))
    stored = await one.encrypt(value(key))
    assert stored.startswith(b"k8s:enc:aesgcm:v1:a:") is encrypted
    assert one.covers(key) is encrypted
    assert await one.decrypt([value(key, stored)]) == [Plain(b"{}", stale=False)]


async def test_a_value_belongs_to_its_key_in_etcd(tmp_path: Path) -> None:
    """With another prefix of etcd it is another key, which is what counts."""
    one = cipher(tmp_path, rule("secrets"))
    key = "/registry/secrets/default/a"
    stored = await one.encrypt(StoredValue(key, b"/other/secrets/default/a", b"{}"))
    moved, right = await one.decrypt(
        [value(key, stored), StoredValue(key, b"/other/secrets/default/a", stored)]
    )
    assert isinstance(moved, Unreadable)
    assert right == Plain(b"{}", stale=False)


async def test_many_values_in_order(tmp_path: Path) -> None:
    """Encrypted ones, plain ones that are to be encrypted, and those of other resources."""
    one = cipher(tmp_path, rule("secrets"), rule("configmaps", "identity"))
    secret, plain = "/registry/secrets/default/a", "/registry/configmaps/default/a"
    stored = await one.encrypt(value(secret, b"large" * 10_000))
    rows = [value(secret, stored), value(plain, b"{}"), value("/registry/pods/a/b", b"[]")]
    found = await one.decrypt(rows * VALUES_AT_ONCE)
    assert found == VALUES_AT_ONCE * [
        Plain(b"large" * 10_000, stale=False),
        Plain(b"{}", stale=False),
        Plain(b"[]", stale=False),
    ]


async def test_what_no_provider_reads(tmp_path: Path) -> None:
    """Encrypted values of a resource without a rule, and plain ones without identity."""
    one = cipher(tmp_path, rule("secrets"))
    other, bare = await one.decrypt(
        [value("/registry/pods/a/b", b"k8s:enc:x"), value("/registry/secrets/a/b", b"{}")]
    )
    assert isinstance(other, Unreadable)
    assert str(other) == UNREADABLE
    assert isinstance(bare, Unreadable)
    assert str(bare) == "no matching prefix found"


async def test_another_configuration(tmp_path: Path) -> None:
    """It counts from now on, for keys that were asked about before, too."""
    one = cipher(tmp_path, rule("secrets", key="a"))
    key = "/registry/secrets/default/a"
    old = await one.encrypt(value(key))
    newer = made(tmp_path / "newer.yaml", HEAD + rule("secrets", key="b"))
    one.use(newer.resolve)
    assert (await one.encrypt(value(key))).startswith(b"k8s:enc:aesgcm:v1:b:")
    [lost] = await one.decrypt([value(key, old)])
    assert isinstance(lost, Unreadable)
    one.use(lambda _resource: None)
    assert newer.resolve(GroupResource("", "secrets")) is not None
    assert await one.encrypt(value(key)) == b"{}"
