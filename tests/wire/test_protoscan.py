"""Large bodies are looked at before they are read."""

import pytest

from kubetrio.schema import builtin
from kubetrio.wire import protoscan
from kubetrio.wire.protowire import ProtobufCodec

CODEC = ProtobufCodec(builtin.message)
POD = "io.k8s.api.core.v1.Pod"


def delimited(number: int, body: bytes) -> bytes:
    """A length-delimited field."""
    from kubetrio.wire.protovalues import varint

    return varint(number << 3 | 2) + varint(len(body)) + body


def test_amplification() -> None:
    """A body of many empty messages is refused before anything is made of it."""
    spec = delimited(2, delimited(2, b"") * 1_000_000)
    with pytest.raises(ValueError, match="too many fields"):
        CODEC.decode(spec, POD)


def test_large_but_honest() -> None:
    """A large secret is read, whatever bytes it holds."""
    secret = {"metadata": {}, "data": {"k": "AAAA" * 200_000}}
    name = "io.k8s.api.core.v1.Secret"
    assert CODEC.decode(CODEC.encode(secret, name), name) == secret


@pytest.mark.parametrize("depth", [150, 5000])
def test_depth(depth: int) -> None:
    """Nesting is bounded, in small bodies and in large ones."""
    body = b""
    for _ in range(depth):
        body = delimited(26, body)
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    with pytest.raises(ValueError):
        CODEC.decode(body + delimited(1, b"x" * protoscan.UNCHECKED_BYTES) * (depth > 200), name)


@pytest.mark.parametrize("tail", [b"\x0a\x05abc", b"\x0a", b"\x80" * 11, b"\x09abc", b"\x0f"])
def test_malformed(tail: bytes) -> None:
    """Malformed ends of large bodies are found by the walk."""
    with pytest.raises(ValueError):
        CODEC.decode(delimited(99, b"x" * protoscan.UNCHECKED_BYTES) + tail, POD)
