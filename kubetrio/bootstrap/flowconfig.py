"""Flow control's configuration: objects that must exist, and what the stored ones mean.

The *producer* keeps the mandatory and suggested objects, at start and every minute:

=====================  ======================================================================
object                 rule
=====================  ======================================================================
mandatory              made when missing; its spec and annotation are always set back, but for the
                       shares and the lendable part of the level ``exempt``
suggested              made when missing; its spec is set back while the annotation
                       ``apf.kubernetes.io/autoupdate-spec`` is true; where that is absent or not
                       a boolean it becomes true if the generation is 1 (the spec was not changed),
                       else false, and the object is its user's from then on
neither                deleted if the annotation is true: an older version suggested it
=====================  ======================================================================

The *consumer* hands what is stored to the gate, at start and after each commit that touches it, and
tells on each FlowSchema whether its level exists.

Source: "API Priority and Fairness", Defaults, in the Kubernetes documentation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import trio

from kubetrio.env import Env
from kubetrio.flow.config import digest
from kubetrio.flow.gate import Gate
from kubetrio.informers.informer import EventHandler, SharedInformerFactory
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import SERVER, apply_status
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions
from kubetrio.runtime.groups import leaves
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire.report import Report

Object = dict[str, Any]

log = Log("kubetrio.flow")
GROUP = "flowcontrol.apiserver.k8s.io"
KINDS = ("PriorityLevelConfiguration", "FlowSchema")  # levels first: no schema is to dangle
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
PRODUCER = WriteOptions(
    user=SERVER, field_manager="api-priority-and-fairness-config-producer-v1", own=True
)
CONSUMER = WriteOptions(
    user=SERVER, field_manager="api-priority-and-fairness-config-consumer-v1", own=True
)
MAINTENANCE_PERIOD_S = 60.0
RETRY_S = 5.0
# Another server that disagrees about a status is not to be fought with.
STATUS_WRITES_A_MINUTE = 6
STATUS_DELAY_S = (30.0, 75.0)
# Go's strconv.ParseBool.
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def desired(stored: Object | None, wanted: Object, *, mandatory: bool) -> Object | None:
    """What an object of ours should become.

    Args:
        stored: as it is, None if it does not exist.
        wanted: as it is shipped, with defaults.
        mandatory: whether users may not own it.

    Returns:
        The new object, or None if the stored one is right.
    """
    if stored is None:
        return wanted
    meta = stored["metadata"]
    annotations = meta.get("annotations") or {}
    told = BOOLEANS.get(annotations.get(AUTO_UPDATE, ""))
    automatic = True
    if not mandatory:
        automatic = meta.get("generation") == 1 if told is None else told
    new = dict(stored)
    if told is not automatic:  # else a user's own spelling of the boolean stays
        text = "true" if automatic else "false"
        new["metadata"] = {**meta, "annotations": {**annotations, AUTO_UPDATE: text}}
    if automatic and not _alike(stored["spec"], wanted["spec"]):
        new["spec"] = wanted["spec"]
    return None if new == stored else new


def _alike(stored: Object, wanted: Object) -> bool:
    """Whether specs are equal but for the shares of the exempt level, which users may set."""
    if "exempt" in wanted and "exempt" in stored:
        wanted = {**wanted, "exempt": stored["exempt"]}
    return stored == wanted


def obsolete(stored: Object, shipped: Sequence[str]) -> bool:
    """Whether an object was suggested once and no longer is."""
    meta = stored["metadata"]
    told = BOOLEANS.get((meta.get("annotations") or {}).get(AUTO_UPDATE, ""))
    return told is True and meta["name"] not in shipped


def dangling_condition(level: str, now: str, *, dangling: bool) -> Object:
    """The ``Dangling`` condition of a FlowSchema.

    Args:
        level: name it refers to.
        now: time of the transition.
        dangling: whether there is no such level.
    """
    reference = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    return {
        "type": "Dangling",
        "status": "True" if dangling else "False",
        "lastTransitionTime": now,
        "reason": "NotFound" if dangling else "Found",
        "message": f"{reference} {'but there is no such object' if dangling else 'and it exists'}",
    }


class FlowConfig:
    """Producer and consumer of one server.

    Args:
        registry: what is served.
        operations: writes.
        informers: of the server.
        gate: what the configuration is for.
        env: wall clock and randomness.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
        gate: Gate,
        env: Env,
    ) -> None:
        self._resources: dict[str, Kind] = {
            kind: registry.by_kind[GroupVersionKind(GROUP, "v1", kind)] for kind in KINDS
        }
        self._operations = operations
        self._store = informers.store
        self._gate = gate
        self._env = env
        self._dirty = trio.Event()
        self._written: dict[str, deque[float]] = {}  # times of status writes by schema
        self._informers = {
            kind: informers.informer_for(one) for kind, one in self._resources.items()
        }
        for informer in self._informers.values():
            informer.add_event_handler(
                EventHandler(add=self._notice, update=self._notice, delete=self._notice)
            )

    def _notice(self, *_: object) -> None:
        self._dirty.set()

    async def start(self) -> None:
        """Make what is missing and put the configuration into force."""
        await self.produce()
        await self.consume()

    async def run(self) -> NoReturn:
        """Keep objects and configuration until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._produce, name="flow control configuration producer")
            while True:
                await self._dirty.wait()
                retry = await self.consume()
                if retry is not None:
                    with trio.move_on_after(retry):
                        await self._dirty.wait()
                    self._dirty.set()

    async def _produce(self) -> NoReturn:
        while True:
            await trio.sleep(MAINTENANCE_PERIOD_S)
            try:
                await self.produce()
            except* ApiError as group:  # of several tasks
                reasons = sorted({str(error) for error in leaves(group)})
                log.warning("flow control objects not maintained", reasons=reasons)

    # ------------------------------------------------------------------ producer

    async def produce(self) -> None:
        """Bring mandatory and suggested objects into order once.

        Raises:
            ApiError: the store takes no writes.
        """
        for kind in KINDS:
            shipped = self._shipped(kind)
            stored = await self._stored(kind)
            # All at a time, so that they share commits.
            async with trio.open_nursery() as nursery:
                for name, (default, mandatory) in shipped.items():
                    if desired(stored.get(name), default, mandatory=mandatory) is not None:
                        nursery.start_soon(self._ensure, kind, name, default, mandatory)
                for name, obj in stored.items():
                    if obsolete(obj, tuple(shipped)):
                        nursery.start_soon(self._remove, kind, name, obj)

    def _shipped(self, kind: str) -> dict[str, tuple[Object, bool]]:
        """Objects of a kind by name, and whether each is mandatory."""
        resource = self._resources[kind]
        objects = {}
        for key, fact in builtin.parsed("bootstrap").items():
            if not key.startswith(f"{kind} "):
                continue
            meta = {k: fact["metadata"][k] for k in ("name", "annotations")}
            plain = {k: fact[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": meta}
            obj = scheme_of(GROUP).decode(resource.group_version_kind, plain, Report(), {})
            resource.rules.default(obj)
            objects[meta["name"]] = (obj, bool(fact.get("mandatory")))
        return objects

    async def _stored(self, kind: str) -> dict[str, Object]:
        informer = self._informers[kind]
        await informer.sync()
        return {obj["metadata"]["name"]: obj for obj in informer.lister.list()}

    async def _ensure(self, kind: str, name: str, wanted: Object, mandatory: bool) -> None:
        resource = self._resources[kind]
        target = Target(resource=resource, namespace="", name=name)

        def kept(stored: Object) -> Object:
            new = desired(stored, wanted, mandatory=mandatory) or stored
            return {**new, "metadata": dict(new["metadata"])}

        try:
            if await self._store.get(target.key) is None:
                await self._operations.create(target, wanted, PRODUCER)
            else:
                await self._operations.patch(target, kept, PRODUCER)
        except ApiError as error:
            if error.code not in (404, 409):  # another writer was faster: next time
                raise

    async def _remove(self, kind: str, name: str, obj: Object) -> None:
        target = Target(resource=self._resources[kind], namespace="", name=name)
        meta = obj["metadata"]
        options = DeleteOptions(uid=meta["uid"], resource_version=meta["resourceVersion"])
        try:
            await self._operations.delete(target, options, PRODUCER)
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    # ------------------------------------------------------------------ consumer

    async def consume(self) -> float | None:
        """Put what is stored into force and write the conditions.

        Returns:
            Seconds after which to try again what could not be written, or None.
        """
        self._dirty = trio.Event()
        levels, schemas = [await self._stored(kind) for kind in KINDS]
        stored = digest(schemas.values(), levels.values())
        for broken_kind, name, why in stored.broken:
            log.warning("flow control object not usable", kind=broken_kind, name=name, reason=why)
        dangling = self._gate.reconfigure(stored.schemas, stored.levels)
        retries = []
        for schema in stored.schemas:
            retry = await self._tell(
                schemas[schema.name], schema.level, dangling=schema.name in dangling
            )
            if retry is not None:
                retries.append(retry)
        return min(retries, default=None)

    async def _tell(self, schema: Object, level: str, *, dangling: bool) -> float | None:
        """Write the condition of one schema if it is not right."""
        name = schema["metadata"]["name"]
        time = format_time(self._env.now())
        condition = dangling_condition(level, time, dangling=dangling)
        if _has_condition(schema, condition):
            return None
        now = trio.current_time()
        written = self._written.setdefault(name, deque())
        while written and now - written[0] > 60.0:
            written.popleft()
        if len(written) >= STATUS_WRITES_A_MINUTE:
            return self._env.rng.uniform(*STATUS_DELAY_S)
        written.append(now)
        resource = self._resources["FlowSchema"]
        target = Target(resource=resource, namespace="", name=name)
        try:
            status = {"conditions": [condition]}
            await apply_status(self._operations, target, status, CONSUMER)
        except ApiError as error:
            if error.code != 404:  # deleted meanwhile
                log.warning("FlowSchema status not written", name=name, reason=error.message)
                return RETRY_S
        return None


def _has_condition(schema: Object, wanted: Object) -> bool:
    for condition in (schema.get("status") or {}).get("conditions") or ():
        if condition.get("type") == wanted["type"]:
            return all(condition.get(key) == wanted[key] for key in ("status", "reason", "message"))
    return False
