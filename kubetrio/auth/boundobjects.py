"""What authenticators need to know of stored objects: little, remembered until a commit.

Source: KEP-1205 (a token ends with the objects that it is bound to).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.remembered import Remembered
from kubetrio.machinery.timestamps import parse_time
from kubetrio.schema.wellknown import SECRETS

INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LAST_USED = "kubernetes.io/legacy-token-last-used"
BOOTSTRAP_TYPE = "bootstrap.kubernetes.io/token"
MOST_OBJECTS = 20_000
"""A token of a pod needs three of them."""
MOST_BYTES = 8 << 20
EACH_BYTES = 400
"""What one takes without what differs in length."""


class Seen(NamedTuple):
    """A ServiceAccount, Pod, Secret or Node.

    Args:
        uid: its identity.
        deleted: its deletionTimestamp, seconds since the epoch.
        refs: the Secrets that an account names.
        token: digest of the token in a Secret.
        invalid: whether a Secret's token was marked as invalid.
        last_used: the day on which it was last used, as the label has it.
        bootstrap: data of a Secret with a bootstrap token, empty for others.
    """

    uid: str
    deleted: float | None
    refs: frozenset[str] = frozenset()
    token: bytes = b""
    invalid: bool = False
    last_used: str = ""
    bootstrap: Mapping[str, bytes] = {}


def seen(value: bytes) -> Seen:
    """What there is to know of an object.

    Args:
        value: stored bytes.
    """
    obj: dict[str, Any] = orjson.loads(value)
    meta = obj["metadata"]
    until = meta.get("deletionTimestamp")
    deleted = parse_time(until) if until else None
    labels = meta.get("labels") or {}
    data = obj.get("data") or {}
    bootstrap = obj.get("type") == BOOTSTRAP_TYPE
    return Seen(
        meta["uid"],
        deleted,
        refs=frozenset(one.get("name") or "" for one in obj.get(SECRETS) or ()),
        token=sha256(_decoded(data["token"])).digest() if "token" in data else b"",
        invalid=bool(labels.get(INVALID_SINCE)),
        last_used=labels.get(LAST_USED) or "",
        bootstrap={key: _decoded(text) for key, text in data.items()} if bootstrap else {},
    )


def _decoded(text: str | None) -> bytes:
    with suppress(ValueError):
        return b64decode(text or "")
    return b""


def _size(_: bytes, one: Seen) -> int:
    held = sum(len(key) + len(value) for key, value in one.bootstrap.items())
    return EACH_BYTES + sum(map(len, one.refs)) + held


def bound_objects(dispatcher: Dispatcher) -> Remembered[Seen]:
    """What is known of objects, by their storage key; forgotten with the commit that changes it.

    Args:
        dispatcher: the commit stream.
    """
    return Remembered(dispatcher, seen, most=MOST_OBJECTS, most_bytes=MOST_BYTES, size=_size)
