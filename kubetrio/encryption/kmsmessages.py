"""Messages of the KMS plugin API v2 and of what is stored with it; classes are made at run time.

Source: k8s.io/kms/apis/v2/api.proto, apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from kubetrio.wire.descriptors import Descriptors

_BYTES_MAP = "map<string,bytes>"
_ROWS: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "v2.EncryptedObject": (
        (1, "encryptedData", "bytes", "opt", ""),
        (2, "keyID", "string", "opt", ""),
        (3, "encryptedDEKSource", "bytes", "opt", ""),
        (4, "annotations", _BYTES_MAP, "map", ""),
        (5, "encryptedDEKSourceType", "int32", "opt", ""),
    ),
    "v2.StatusRequest": (),
    "v2.StatusResponse": (
        (1, "version", "string", "opt", ""),
        (2, "healthz", "string", "opt", ""),
        (3, "key_id", "string", "opt", ""),
    ),
    "v2.DecryptRequest": (
        (1, "ciphertext", "bytes", "opt", ""),
        (2, "uid", "string", "opt", ""),
        (3, "key_id", "string", "opt", ""),
        (4, "annotations", _BYTES_MAP, "map", ""),
    ),
    "v2.DecryptResponse": ((1, "plaintext", "bytes", "opt", ""),),
    "v2.EncryptRequest": (
        (1, "plaintext", "bytes", "opt", ""),
        (2, "uid", "string", "opt", ""),
    ),
    "v2.EncryptResponse": (
        (1, "ciphertext", "bytes", "opt", ""),
        (2, "key_id", "string", "opt", ""),
        (3, "annotations", _BYTES_MAP, "map", ""),
    ),
}

SERVICE: Final = "v2.KeyManagementService"
METHODS: Final = ("Status", "Encrypt", "Decrypt")


@cache
def _descriptors() -> Descriptors:
    return Descriptors(_ROWS.__getitem__)


def message_class(name: str) -> Any:
    """The class of a message, ``EncryptedObject``."""
    return _descriptors().message_class(f"v2.{name}")


def encode(name: str, **members: Any) -> bytes:
    """A message; members that are empty are left out, as proto3 has it.

    Args:
        name: of the message.
        members: its fields; ``annotations`` is a mapping of text to bytes.
    """
    message = message_class(name)()
    annotations: Mapping[str, bytes] = members.pop("annotations", None) or {}
    for key in sorted(annotations):
        entry = message.annotations.add()
        entry.key, entry.value = key, annotations[key]
    for member, value in members.items():
        if value:
            setattr(message, member, value)
    data: bytes = message.SerializeToString()
    return data


def decode(name: str, data: bytes) -> Any:
    """A message from its bytes; `annotations_of` reads its annotations.

    Raises:
        ValueError: malformed.
    """
    from google.protobuf.message import DecodeError

    message = message_class(name)()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ValueError("proto:\u00a0cannot parse invalid wire-format data") from error
    return message


def annotations_of(message: Any) -> dict[str, bytes]:
    """The annotations of a message."""
    return {entry.key: entry.value for entry in message.annotations}
