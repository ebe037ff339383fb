"""Values at rest: what is written, read and refused."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.encryption.aes import Cbc, ExtendedGcm, Gcm
from kubetrio.encryption.kms import First
from kubetrio.encryption.secretbox import Secretbox
from kubetrio.encryption.transformers import (
    Identity,
    Prefixed,
    Providers,
    Transformer,
    TransformError,
)

KEY = b"01234567890123456789012345678901"


PATH = b"/registry/secrets/default/one"


MAKERS: dict[str, Callable[[bytes], Transformer]] = {
    "aescbc": Cbc,
    "aesgcm": Gcm,
    "secretbox": Secretbox,
    "kms": ExtendedGcm,
}


AUTHENTIC = ("aesgcm", "secretbox", "kms")


BOUND = ("aesgcm", "kms")


STORED = json.loads(Path(__file__).with_name("stored_by_kube_apiserver.json").read_text())


makers = pytest.mark.parametrize("name", MAKERS)


def sealed(transformer: Transformer, data: bytes, path: bytes = PATH, fill: int = 7) -> bytes:
    nonce = bytes([fill]) * transformer.nonce_bytes
    return transformer.seal(path, nonce, len(data))(data)


@makers
@given(data=st.binary(max_size=400), fill=st.integers(0, 255))
def test_what_is_written_can_be_read(name: str, data: bytes, fill: int) -> None:
    """Any bytes come back, and are not stale."""
    transformer = MAKERS[name](KEY)
    stored = sealed(transformer, data, fill=fill)
    assert transformer.open(stored, PATH, {}) == (data, False)


@makers
def test_a_value_longer_than_was_said(name: str) -> None:
    """The size that is told beforehand is a hint only."""
    transformer = MAKERS[name](KEY)
    data = b"x" * 5000
    stored = transformer.seal(PATH, bytes(transformer.nonce_bytes), 0)(data)
    assert transformer.open(stored, PATH, {}).data == data


@makers
def test_nothing_of_the_value_shows(name: str) -> None:
    """The plain bytes are not in what is stored."""
    assert b"hunter2" not in sealed(MAKERS[name](KEY), b"password: hunter2 hunter2 hunter2")


@pytest.mark.parametrize("name", AUTHENTIC)
@given(data=st.binary(min_size=1, max_size=100), where=st.integers(0), bit=st.integers(0, 7))
def test_a_changed_bit_is_found(name: str, data: bytes, where: int, bit: int) -> None:
    """Wherever it is, the value is refused."""
    transformer = MAKERS[name](KEY)
    stored = bytearray(sealed(transformer, data))
    stored[where % len(stored)] ^= 1 << bit
    with pytest.raises(TransformError):
        transformer.open(bytes(stored), PATH, {})


@makers
@given(data=st.binary(max_size=100), kept=st.integers(0, 200))
def test_what_is_cut_off_is_refused_or_other(name: str, data: bytes, kept: int) -> None:
    """A shorter value is never taken for the whole one, and nothing breaks."""
    transformer = MAKERS[name](KEY)
    stored = sealed(transformer, data)
    if kept >= len(stored):
        return
    try:
        found = transformer.open(stored[:kept], PATH, {})
    except TransformError:
        return
    assert name == "aescbc"  # which authenticates nothing
    assert found.data != data


@pytest.mark.parametrize("name", AUTHENTIC)
def test_another_key_reads_nothing(name: str) -> None:
    """A value under one key is refused by another."""
    stored = sealed(MAKERS[name](KEY), b"value")
    with pytest.raises(TransformError):
        MAKERS[name](KEY[::-1]).open(stored, PATH, {})


@pytest.mark.parametrize("name", BOUND)
def test_a_value_is_bound_to_its_key_in_the_store(name: str) -> None:
    """One that was copied to another object is refused."""
    stored = sealed(MAKERS[name](KEY), b"value")
    with pytest.raises(TransformError, match=r"^cipher: message authentication failed$"):
        MAKERS[name](KEY).open(stored, b"/registry/secrets/default/two", {})


@pytest.mark.parametrize(
    ("resource", "provider"),
    [
        ("secrets", Prefixed(b"k8s:enc:aescbc:v1:one:", Cbc(KEY))),
        ("configmaps", Prefixed(b"k8s:enc:secretbox:v1:box:", Secretbox(KEY))),
        ("endpoints", Prefixed(b"k8s:enc:aesgcm:v1:gcm:", Gcm(KEY))),
    ],
)
def test_values_written_by_kube_apiserver(resource: str, provider: Prefixed) -> None:
    """What kube-apiserver 1.36 put into etcd under these keys is read: protobuf, in its case."""
    found = STORED[resource]
    stored, path = base64.b64decode(found["stored"]), found["path"].encode()
    plain = Providers([provider]).open(stored, path, {})
    assert plain.data.startswith(b"k8s\0")
    assert b"vec" in plain.data
    assert not plain.stale


def test_the_first_writes_and_all_read() -> None:
    """What another than the first reads is stale."""
    old, new = Prefixed(b"old:", Gcm(KEY)), Prefixed(b"new:", Cbc(KEY))
    stored = sealed(Providers([old]), b"value")
    both = Providers([new, old])
    assert both.open(stored, PATH, {}) == (b"value", True)
    assert sealed(both, b"value").startswith(b"new:")
    assert both.open(sealed(both, b"value"), PATH, {}) == (b"value", False)


def test_the_same_prefix_with_another_key() -> None:
    """A provider that fails does not keep one behind it, with the same prefix, from reading."""
    old, new = Prefixed(b"a:", Gcm(KEY)), Prefixed(b"a:", Gcm(KEY[::-1]))
    stored = sealed(Providers([old]), b"value")
    assert Providers([new, old]).open(stored, PATH, {}) == (b"value", True)


def test_plain_values_without_identity() -> None:
    """They are refused, as an attacker may have put them there."""
    with pytest.raises(TransformError, match=r"^no matching prefix found$"):
        Providers([Prefixed(b"a:", Gcm(KEY))]).open(b"{}", PATH, {})


def test_plain_values_before_encryption_was_switched_on() -> None:
    """Behind a provider that encrypts, identity reads them, and they are stale."""
    providers = Providers([Prefixed(b"a:", Gcm(KEY)), Prefixed(b"", Identity())])
    assert providers.open(b"{}", PATH, {}) == (b"{}", True)


def test_identity_in_front_lets_others_read() -> None:
    """That is how encryption is switched off: what is encrypted is read, and is stale."""
    gcm = Prefixed(b"k8s:enc:aesgcm:v1:a:", Gcm(KEY))
    stored = sealed(Providers([gcm]), b"value")
    providers = Providers([Prefixed(b"", Identity()), gcm])
    assert providers.writes_plain
    assert providers.open(stored, PATH, {}) == (b"value", True)
    with pytest.raises(
        TransformError, match=r"^identity transformer tried to read encrypted data$"
    ):
        Identity().open(stored, PATH, {})


def test_several_failures_are_all_told() -> None:
    """Each text once, in brackets if they differ."""
    one = Prefixed(b"a:", Gcm(KEY))
    other = Prefixed(b"a:", Cbc(KEY))
    with pytest.raises(TransformError) as caught:
        Providers([one, one, other]).open(b"a:x", PATH, {})
    assert str(caught.value) == "the stored data was shorter than the required size"
    with pytest.raises(TransformError) as caught:
        Providers([one, other]).open(b"a:" + b"x" * 33, PATH, {})
    assert str(caught.value) == (
        "[cipher: message authentication failed, "
        "the stored data is not a multiple of the block size]"
    )


def test_values_of_the_first_kms_api() -> None:
    """They are refused with a text that says what they are and what helps."""
    with pytest.raises(TransformError, match="version 1 of the KMS API"):
        First().open(b"name:x", PATH, {})
