"""A store, and the writes of objects on it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson
import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Chain
from kubetrio.admission.plugin import Base
from kubetrio.env import Env, seeded
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import stamp
from kubetrio.resources.operations import Operations
from kubetrio.resources.write import WriteParts
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions, Written
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import EventType
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]
RESOURCES = registry().resources
CONFIGMAPS = RESOURCES["", "v1", "configmaps"]
DEPLOYMENTS = RESOURCES["apps", "v1", "deployments"]
LEASES = RESOURCES["coordination.k8s.io", "v1", "leases"]
USER = UserInfo("somebody")
WHO = WriteOptions(user=USER)
DRY = WriteOptions(user=USER, dry_run=True)
START = 1_700_000_000.0


class Spy(Base):
    """A plugin that notes what it is asked."""

    name = "Spy"
    operations = frozenset(Operation)

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def mutate(self, attributes: Attributes) -> None:
        """Note it."""
        self.asked.append(("mutate", attributes.operation.value))

    async def validate(self, attributes: Attributes) -> None:
        """Note it."""
        self.asked.append(("validate", attributes.operation.value))


class World:
    """A store and the writes on it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.env: Env = seeded(1, start=START)
        self.spy = Spy()
        self.parts = WriteParts(
            store=self.store,
            registry=LiveRegistry(registry()),
            admission=Chain([self.spy]),
            env=self.env,
            allocators={},
            allow_privileged=False,
            times_to_live={"event-ttl": 3600.0},
        )
        self.operations = Operations(self.parts)

    async def create(self, obj: Object | None = None, options: WriteOptions = WHO) -> Object:
        """Create a ConfigMap."""
        target = Target(resource=CONFIGMAPS, namespace="ns")
        return shown(await self.operations.create(target, obj or configmap(), options))

    async def update(
        self, new: Object, options: WriteOptions = WHO, *, uid_is_precondition: bool = True
    ) -> Object:
        """Replace ConfigMap ``n``."""

        async def change(old: Object | None) -> Object:
            owned = {} if old is None else old["metadata"].get("managedFields")
            return {**new, "metadata": {**new["metadata"], **owners(owned)}}

        return shown(
            await self.operations.change(
                TARGET, change, options, uid_is_precondition=uid_is_precondition
            )
        )

    async def delete(self, **options: Any) -> tuple[Object, bool]:
        """Delete ConfigMap ``n``."""
        chosen = DeleteOptions(**options)
        who = WriteOptions(user=USER, dry_run=chosen.dry_run)
        return await self.operations.delete(TARGET, chosen, who)

    def kinds(self) -> list[EventType]:
        """What happened to the store."""
        return [logged.event.type for logged in self.store.log]

    async def touch(self) -> None:
        """Change the object as another client would."""
        found = await self.store.get(TARGET.key)
        assert found is not None
        obj = orjson.loads(found.value)
        obj["data"] = {"others": str(found.revision)}
        await self.store.update(TARGET.key, stamp(obj), expected=found.revision)


TARGET = Target(resource=CONFIGMAPS, namespace="ns", name="n")


def shown(written: Written) -> Object:
    obj: Object = orjson.loads(written.value)
    return obj


def owners(entries: Any) -> Object:
    """Metadata that keep the owners of fields."""
    return {"managedFields": entries} if entries else {}


def configmap(data: dict[str, str] | None = None, **meta: Any) -> Object:
    if "generateName" not in meta:
        meta.setdefault("name", "n")
    obj: Object = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}
    return {**obj, "data": data} if data else obj


async def refused(call: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value
