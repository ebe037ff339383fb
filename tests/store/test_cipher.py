"""Values of an engine without encryption."""

from __future__ import annotations

from kubetrio.store.cipher import UNREADABLE, NoCipher, Plain, StoredValue
from kubetrio.store.errors import Unreadable


async def test_values_are_stored_as_they_are() -> None:
    """Nothing is covered, and nothing changes."""
    cipher = NoCipher()
    value = StoredValue("/registry/secrets/a/b", b"/etcd/secrets/a/b", b"plain")
    assert not cipher.covers(value.key)
    assert await cipher.encrypt(value) == b"plain"
    assert await cipher.decrypt([value]) == [Plain(b"plain", stale=False)]


async def test_encrypted_values_cannot_be_read() -> None:
    """Each says so in kube-apiserver's words; others beside it are read."""
    values = [StoredValue("a", b"a", b"k8s:enc:x"), StoredValue("b", b"b", b"plain")]
    first, second = await NoCipher().decrypt(values)
    assert isinstance(first, Unreadable)
    assert str(first) == UNREADABLE
    assert second == Plain(b"plain", stale=False)
