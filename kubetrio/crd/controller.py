"""Has CustomResourceDefinitions served, and keeps what the server says of them.

kube-apiserver does this itself, in controllers that it always runs: names, conditions, the
endpoints, local APIServices, and the deletion of objects before their definition.

Source: k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,finalizer,
nonstructuralschema,apiapproval}; k8s.io/kubernetes/pkg/controlplane/controller/crdregistration.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

import trio

from kubetrio.crd.strangers import Strangers
from kubetrio.env import Env
from kubetrio.informers.dispatch import Subscription
from kubetrio.informers.informer import EventHandler, Item, SharedInformerFactory
from kubetrio.informers.reconciler import Reconciler
from kubetrio.kinds.apiextensions import conditions
from kubetrio.kinds.apiextensions.conditions import CLEANUP, Said, is_true, with_condition
from kubetrio.machinery.names import GroupVersion
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe.logs import Log
from kubetrio.resources.objects import read
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions
from kubetrio.schema.kind import Kind, WaitingConvert
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import Unreadable
from kubetrio.store.model import Event, EventType, Range, Store
from kubetrio.store.scan import scan

if TYPE_CHECKING:  # loaded with the first definition: most servers start without any
    from kubetrio.crd.customtype import Shared
    from kubetrio.crd.serving import Served

Object = dict[str, Any]
Converter = Callable[[Object], WaitingConvert | None]
"""What converts the objects of a definition, None where only names of versions differ."""

log = Log("kubetrio.definitions")
GROUP: Final = "apiextensions.k8s.io"
NAME: Final = "customresourcedefinitions"
AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
OURS: Final = f'"{AUTOMANAGED}":"true"'.encode()  # in what is stored
GROUP_PRIORITY: Final = 1000
VERSION_PRIORITY: Final = 100
INLINE_BYTES: Final = 16 * 1024
"""Definitions up to this size are read as soon as they are written."""
LOOKED_AT: Final = 20  # objects between turns for others
SETTLE_AGAIN_S: Final = 10.0
SETTLE_MOST_S: Final = 600.0
LOOK_AGAIN_S, LOOK_MOST_S = 0.5, 600.0  # while objects wait for their finalizers
LEFT_OVER: Final = ""
"""Instead of a definition's name: APIServices of definitions that are gone."""
_CLEANING: Said = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_CLEANED: Said = ("False", "InstanceDeletionCompleted", "removed all instances")
_OVERLAPS: Said = (
    "False",
    "OverlappingBuiltInResource",
    "instances overlap with built-in resources in storage",
)
_NEVER: Said = ("False", "NeverEstablished", "resource was never established")


class CRDController(Reconciler):
    """The CustomResourceDefinitions of one server.

    Args:
        registry: has the kinds served.
        operations: writes.
        informers: say what definitions there are.
        store: where objects are.
        env: wall clock.
        converter: says what converts between versions.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
        store: Store,
        env: Env,
        converter: Converter = lambda _: None,
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._store = store
        self._env = env
        self._converter = converter
        self._kind = registry.resources[GROUP, "v1", NAME]
        self._services = registry.resources["apiregistration.k8s.io", "v1", "apiservices"]
        self._informer = informers.informer_for(self._kind)
        super().__init__("customresourcedefinitions", [self._informer])
        self._served: dict[str, Served] = {}
        self._loaded = False
        self._names: dict[str, Object] = {}  # of definitions, and their groups
        self._large: set[str] = set()  # names of definitions
        self._judged: dict[str, tuple[Object, Said | None]] = {}  # specs, and what is said of them
        self._delays: dict[str, float] = {}  # until what is stored is looked at again
        self._dispatcher = informers.dispatcher
        self._strangers = Strangers(self._dispatcher, self.queue.add)
        # Definitions that wait for their objects to go, and what ends hearing of these.
        self._cleaning: dict[str, Subscription] = {}
        self._versions: dict[str, set[GroupVersion]] = {}  # that have APIServices of ours
        self._informer.add_event_handler(
            EventHandler(
                add=self._changed, update=lambda _, new: self._changed(new), delete=self._deleted
            )
        )

    # --- what is served ---

    async def load(self) -> None:
        """Serve what is stored; from then on, definitions are followed.

        Raises:
            StoreError: it cannot be read.
        """
        await self._informer.sync()
        self._loaded = True
        kinds: list[Kind] = []
        for item in self._informer.indexer.list():
            kinds += self._made(await self._parsed(item))
        if kinds:
            self._registry.add(kinds)
        self.queue.add(LEFT_OVER)

    def _changed(self, item: Item) -> None:
        name = item.key.rpartition("/")[2]
        self.queue.add(name)
        if len(item.value) > INLINE_BYTES:
            return  # it is read, and served, beside the event loop
        definition = item.object
        self._note_names(name, definition)
        if self._loaded:
            self._serve(name, definition)

    def _deleted(self, item: Item) -> None:
        name = item.key.rpartition("/")[2]
        self._stop(name)
        self.queue.add(name)
        self._judged.pop(name, None)
        self._large.discard(name)
        names = self._names.pop(name, None)
        if names is not None:  # they are free now
            for other in self._group(names["spec"]["group"]):
                self.queue.add(other["metadata"]["name"])

    def _note_names(self, name: str, definition: Object) -> None:
        """Remember the names of a definition, which others of its group may not have."""
        spec, status = definition["spec"], definition.get("status") or {}
        self._names[name] = {
            "metadata": {"name": name},
            "spec": {"group": spec["group"]},
            "status": {"acceptedNames": status.get("acceptedNames")},
        }

    def _group(self, group: str) -> list[Object]:
        """The names of all definitions of a group."""
        return [other for other in self._names.values() if other["spec"]["group"] == group]

    async def _read(self, key: str) -> Object | None:
        """A definition as it is now; a large one is parsed beside the event loop."""
        item = self._informer.indexer.get(self._kind.key("", key))
        if item is None:
            return None
        if len(item.value) <= INLINE_BYTES:
            self._large.discard(key)
            return item.object
        self._large.add(key)
        definition = await self._parsed(item)
        self._note_names(key, definition)
        self._serve(key, definition)
        return definition

    async def _parsed(self, item: Item) -> Object:
        """A stored definition; a large one is parsed beside the event loop."""
        if len(item.value) <= INLINE_BYTES:
            return item.object
        return await self._env.run_bodies(lambda: item.object)

    def _made(self, definition: Object) -> list[Kind]:
        """The kinds of a definition, if they are to be served."""
        if not is_true(definition, "Established"):
            return []
        from kubetrio.crd.serving import served

        name = definition["metadata"]["name"]
        try:
            entry = served(definition, self._converter(definition))
        except (KeyError, StopIteration, ValueError, TypeError) as error:
            log.error(error, "cannot serve a definition", stack=False, name=name)
            return []
        self._served[name] = entry
        if self._overlaps(entry.stored):
            return []  # its objects would be those of what is built in
        # What is built in is not replaced.
        return [
            kind
            for kind in entry.kinds
            if not any(
                other.builtin
                for other in self._registry.current.by_group_version.get(kind.group_version, ())
            )
        ]

    def _overlaps(self, kind: Kind) -> bool:
        """Whether objects of a kind would lie where those of a built-in kind do."""
        return any(
            other.builtin and other.storage_prefix == kind.storage_prefix
            for other in self._registry.resources.values()
        )

    def _serve(self, name: str, definition: Object) -> None:
        before = self._served.get(name)
        if before is not None and is_true(definition, "Established"):
            before.shared.terminating = is_true(definition, "Terminating")
            if before.made_of(definition):
                return
        gone = [] if before is None else list(before.kinds)
        self._served.pop(name, None)
        self._strangers.end(name)
        kinds = self._made(definition)
        if not gone and not kinds:
            return
        current = self._registry.current
        gone = [one for one in gone if current.get(one.group, one.version, one.resource) is one]
        self._registry.replace(current.without(gone).with_resources(kinds))

    def _stop(self, name: str) -> None:
        before = self._served.pop(name, None)
        self._strangers.end(name)
        if before is not None and before.kinds:
            self._registry.remove(before.kinds)

    # --- what is said of them ---

    async def sync(self, key: str) -> None:
        """Bring a definition's names, conditions and APIServices into order."""
        if key == LEFT_OVER:
            await self._drop_left_over()
            return
        definition = await self._read(key)
        await self._register(key, definition)
        if definition is None:
            self._delays.pop(key, None)
            if (end := self._cleaning.pop(key, None)) is not None:
                end()
            return
        await self._name(key)
        definition = await self._read(key) or definition
        if is_true(definition, "NamesAccepted") and not is_true(definition, "Established"):
            condition = conditions.established(definition)
            if key in self._large:  # its objects are served when clients see the condition
                now = format_time(self._env.now())
                self._serve(key, with_condition(definition, "Established", condition, now))
            await self._say(key, "Established", condition, definition)
        for kind, say in (
            ("KubernetesAPIApprovalPolicyConformant", conditions.approval(definition)),
            ("NonStructuralSchema", await self._non_structural(key, definition)),
        ):
            await self._say(key, kind, say, definition)
        if "deletionTimestamp" in definition["metadata"]:
            await self._clean(key, definition)
        else:
            await self._settle(key)

    async def _non_structural(self, key: str, definition: Object) -> Said | None:
        """What the condition says of the schemas; they are judged once, beside the event loop."""
        judged = self._judged.get(key)
        if judged is not None and judged[0] == definition["spec"]:
            return judged[1]
        condition = await self._env.run_bodies(conditions.non_structural, definition)
        self._judged[key] = (definition["spec"], condition)
        return condition

    async def _settle(self, key: str) -> None:
        """Find out whether what is stored is as it would be written today.

        If so, it can go out as it is; if not, it is looked at again later.
        """
        entry = self._served.get(key)
        if entry is None or entry.shared.settled:
            return
        shared, kind = entry.shared, entry.stored
        if self._store.shared:
            self._strangers.follow(key, kind, shared)
        count = self._strangers.count(key)
        if not await self._all_settled(shared, kind) or count != self._strangers.count(key):
            delay_s = self._delays.get(key, SETTLE_AGAIN_S)
            self._delays[key] = min(delay_s * 2, SETTLE_MOST_S)
            self.queue.add_after(key, delay_s)
            return
        shared.settled = True
        self._delays.pop(key, None)

    async def _all_settled(self, shared: Shared, kind: Kind) -> bool:
        count = 0
        keys = Range.prefix(kind.storage_prefix)
        with suppress(Unreadable):  # that may be read later
            async with aclosing(scan(self._store, keys)) as items:
                async for item in items:
                    count += 1
                    if count % LOOKED_AT == 0:
                        await trio.lowlevel.checkpoint()
                    obj = read(kind, item.value)
                    if obj["apiVersion"] != kind.api_version or shared.as_written_today(obj) != obj:
                        return False
            return True
        return False

    async def _name(self, key: str) -> None:
        """Give a definition the names that no other one has.

        Other replicas do so too: what they write in the meantime stays, and is judged when its
        event comes.
        """
        definition = await self._read(key)  # now, as the names of its group are
        if definition is None:
            return
        spec = definition["spec"]
        judged = spec["names"], (definition.get("status") or {}).get("acceptedNames")
        if judged[0] == judged[1]:
            return
        group = self._group(spec["group"])
        names = conditions.accept_names(definition, group)
        now = format_time(self._env.now())

        def named(old: Object) -> Object:
            status = old.get("status") or {}
            if (old["spec"]["names"], status.get("acceptedNames")) != judged:
                return old
            new = {**old, "status": {**status, "acceptedNames": names.accepted}}
            new = with_condition(new, "NamesAccepted", names.names, now)
            if names.established is not None:
                new = with_condition(new, "Established", names.established, now)
            return new

        if named(definition) == definition:
            return
        await self._patch_status(key, named)
        for other in group:
            if other["metadata"]["name"] != key:
                self.queue.add(other["metadata"]["name"])

    async def _say(self, key: str, kind: str, said: Said | None, definition: Object) -> None:
        """Have a condition say something, if it does not yet."""
        if said is None:
            if conditions.condition(definition, kind) is None:
                return
        elif conditions.says(definition, kind, said):
            return
        now = format_time(self._env.now())
        await self._patch_status(key, lambda old: with_condition(old, kind, said, now))

    async def _patch_status(self, key: str, make: Callable[[Object], Object]) -> None:
        target = Target(self._kind, "", key, "status")
        await self._operations.patch(target, make, self._who(key))

    def _who(self, key: str) -> WriteOptions:
        """Who writes a definition; the work over a large one is done beside the event loop."""
        return OWN._replace(work=self._env.run_bodies) if key in self._large else OWN

    # --- deletion ---

    async def _clean(self, key: str, definition: Object) -> None:
        """Delete the objects of a definition, then let go of it."""
        if CLEANUP not in (definition["metadata"].get("finalizers") or ()):
            return
        entry = self._served.get(key)
        outcome = _NEVER
        if entry is not None and self._overlaps(entry.stored):
            outcome = _OVERLAPS
        elif entry is not None:
            await self._say(key, "Terminating", _CLEANING, definition)
            self._hear_of_deletions(key, entry.stored)
            if await self._delete_objects(entry.stored):
                delay_s = self._delays.get(key, LOOK_AGAIN_S)
                self._delays[key] = min(delay_s * 2, LOOK_MOST_S)
                self.queue.add_after(key, delay_s)
                return
            outcome = _CLEANED
        now = format_time(self._env.now())
        await self._patch_status(key, lambda old: with_condition(old, "Terminating", outcome, now))

        def released(old: Object) -> Object:
            meta = dict(old["metadata"])
            left = [name for name in meta.get("finalizers") or () if name != CLEANUP]
            meta.pop("finalizers", None)
            return {**old, "metadata": {**meta, "finalizers": left} if left else meta}

        await self._operations.patch(Target(self._kind, "", key), released, OWN)

    def _hear_of_deletions(self, key: str, kind: Kind) -> None:
        """Have a definition looked at when an object that it waits for is gone."""

        def changed(event: Event) -> None:
            if event.type is EventType.DELETED:
                self.queue.add_after(key, LOOK_AGAIN_S)

        if key not in self._cleaning:
            self._delays.pop(key, None)
            self._cleaning[key] = self._dispatcher.subscribe(kind.storage_prefix, changed)

    async def _delete_objects(self, kind: Kind) -> bool:
        """Delete all objects of a kind; returns whether some are left."""
        prefix = kind.storage_prefix
        refused: ApiError | None = None
        async for item in scan(self._store, Range.prefix(prefix)):
            namespace, _, name = item.key[len(prefix) :].rpartition("/")
            if b'"deletionTimestamp":"' in item.value:
                continue
            try:
                await self._operations.delete(Target(kind, namespace, name), DeleteOptions(), _WHO)
            except ApiError as error:
                refused = error if error.code != 404 else refused
        if refused is not None:
            raise refused
        left = await self._store.range(Range.prefix(prefix), limit=1)
        return bool(left.items)

    # --- APIServices ---

    async def _register(self, key: str, definition: Object | None) -> None:
        """Have an APIService for each version that is served, as for built-in ones."""
        group_versions: set[GroupVersion] = set()
        if definition is not None:
            spec = definition["spec"]
            group_versions = {
                GroupVersion(spec["group"], version["name"])
                for version in spec["versions"]
                if version["served"]
            }
        before = self._versions.get(key, set())
        if group_versions == before:
            return
        self._versions[key] = group_versions
        for version in sorted(group_versions - before):
            await self._add_service(version)
        elsewhere = set().union(*self._versions.values())
        for version in sorted(before - group_versions - elsewhere):
            await self._drop_service(version)
        if not group_versions:
            self._versions.pop(key, None)

    async def _drop_left_over(self) -> None:
        """Drop APIServices that a server stopped before it did: groups would be listed for ever.

        All definitions that are stored were looked at before.
        """
        group_versions = set().union(*self._versions.values())
        async for item in scan(self._store, Range.prefix(self._services.storage_prefix)):
            if OURS not in item.value:
                continue
            spec = read(self._services, item.value)["spec"]
            version = GroupVersion(spec["group"], spec["version"])
            if version not in group_versions:
                await self._drop_service(version)

    async def _add_service(self, version: GroupVersion) -> None:
        name = f"{version.version}.{version.group}"
        body = {
            "apiVersion": self._services.api_version,
            "kind": self._services.kind,
            "metadata": {"name": name, "labels": {AUTOMANAGED: "true"}},
            "spec": {
                "group": version.group,
                "version": version.version,
                "groupPriorityMinimum": GROUP_PRIORITY,
                "versionPriority": VERSION_PRIORITY,
            },
        }
        try:
            await self._operations.create(Target(self._services, ""), body, OWN)
        except ApiError as error:
            if error.code != 409:
                raise

    async def _drop_service(self, version: GroupVersion) -> None:
        name = f"{version.version}.{version.group}"
        stored = await self._store.get(self._services.key("", name))
        if stored is None or OURS not in stored.value:
            return
        try:
            await self._operations.delete(Target(self._services, "", name), DeleteOptions(), OWN)
        except ApiError as error:
            if error.code != 404:
                raise


_WHO = OWN._replace(own=False, of_collection=True)
