"""A store that is listed from memory and from the store, which has to be the same."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import ObjectEncoder, json_encoder
from kubetrio.kinds.builtin import registry
from kubetrio.machinery import fields, labels
from kubetrio.machinery.status import ApiError
from kubetrio.resources.listing import Listing, ListOptions
from kubetrio.resources.objects import stamp
from kubetrio.resources.representation import Encoder
from kubetrio.resources.selection import Selection
from kubetrio.schema.kind import Kind
from kubetrio.store.memory import InMemoryStore
from kubetrio.watch.hub import Hub
from kubetrio.wire.negotiate import Accepted

PODS = registry().resources["", "v1", "pods"]
SECRETS = registry().resources["", "v1", "secrets"]
SIZE = 64 * 1024 * 1024


class World:
    """A store that two listings read: one has it in memory as well."""

    def __init__(self, kind: Kind = PODS, store: InMemoryStore | None = None) -> None:
        self.kind = kind
        self.now = 1_700_000_000.0
        self.store = store or InMemoryStore()
        self.hub = Hub(self.store)
        self.slow = Listing(self.store, self.hub)
        self.quick = Listing(self.store, self.hub, SIZE)

    async def put(self, name: str, namespace: str = "a", **more: Any) -> None:
        """Create or change an object."""
        created = f"2023-11-14T22:{len(name) % 60:02}:20Z"
        meta = {
            "name": name, "namespace": namespace, "uid": name,
            "creationTimestamp": more.get("created", created),
            "labels": {"app": more.get("app", "x")},
        }  # fmt: skip
        ended = {"finishedAt": more["restarted"]} if more.get("restarted") else None
        containers = [{"restartCount": 3, "lastState": {"terminated": ended}}] if ended else []
        obj = {
            "kind": self.kind.kind, "apiVersion": "v1", "metadata": meta,
            "spec": {"nodeName": more.get("node", ""), "containers": []},
            "status": {
                "phase": "Running", "message": more.get("text", ""),
                "containerStatuses": containers,
            },
        }  # fmt: skip
        key = self.kind.key(namespace, name)
        found = await self.store.get(key)
        if found is None:
            await self.store.create(key, stamp(obj))
        else:
            await self.store.update(key, stamp(obj), expected=found.revision)

    async def remove(self, name: str, namespace: str = "a") -> None:
        """Delete an object, if it is there."""
        key = self.kind.key(namespace, name)
        found = await self.store.get(key)
        if found is not None:
            await self.store.delete(key, expected=found.revision)

    def encoders(self) -> list[Encoder]:
        """One of each representation."""
        return [json_encoder(self.kind), *(self.other(accepted) for accepted in ACCEPTED)]

    def other(self, accepted: Accepted) -> ObjectEncoder:
        """An encoder that looks into objects."""
        return ObjectEncoder(self.kind, accepted, "Metadata", lambda: self.now, ByteCache(0))

    async def both(self, encoder: Encoder, namespace: str = "", **options: Any) -> bytes:
        """A list, the same from memory as from the store."""
        expected = await whole(self.slow, self.kind, namespace, encoder, options)
        found = await whole(self.quick, self.kind, namespace, encoder, options)
        assert found == expected
        return found


async def whole(
    listing: Listing, kind: Kind, namespace: str, encoder: Encoder, options: dict[str, Any]
) -> bytes:
    try:
        begin, rest = await listing.open(kind, namespace, ListOptions(**options), encoder)
        more = rest is not None
        while rest is not None and more:
            body, more = await rest.next()
            begin += body
    except ApiError as error:
        return orjson.dumps(error.status())
    return begin


JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
ACCEPTED = [
    Accepted(serializer="protobuf", media_type=PROTOBUF),
    Accepted(serializer="cbor", media_type="application/cbor"),
    Accepted(serializer="json", media_type=JSON, as_kind="Table", as_version="v1"),
    Accepted(
        serializer="json", media_type=JSON, as_kind="PartialObjectMetadataList", as_version="v1"
    ),
    Accepted(
        serializer="protobuf", media_type=PROTOBUF,
        as_kind="PartialObjectMetadataList", as_version="v1",
    ),
]  # fmt: skip


def by(label: str = "", field: str = "") -> Selection:
    return Selection(
        labels.parse(label) if label else None,
        fields.parse(field) if field else None,
        PODS.selectors.values,
    )
