"""Create, update and delete: what is filled in, kept, refused, tried again and stored."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Chain
from kubetrio.admission.plugin import Base
from kubetrio.env import Env, seeded
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.resources import deciding
from kubetrio.resources.objects import stamp
from kubetrio.resources.operations import Configuration, Operations
from kubetrio.resources.recipe import GENERATE_ATTEMPTS, UPDATE_ATTEMPTS
from kubetrio.resources.write import WriteParts
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions, Written
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.store.model import EventType, KeyValue
from kubetrio.testing.store_model import MemoryStore
from kubetrio.wire.report import Report

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
        self.operations = Operations(
            WriteParts(
                store=self.store,
                registry=LiveRegistry(registry()),
                admission=Chain([self.spy]),
                env=self.env,
                allocators={},
                allow_privileged=False,
                times_to_live={"event-ttl": 3600.0},
            )
        )

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
        """Somebody else changes the object."""
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


@pytest.fixture
def world() -> World:
    """An empty store."""
    return World()


async def refused(call: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value


# ---------------------------------------------------------------- create


async def test_a_new_object_gets_its_identity(world: World) -> None:
    """A uid, a time, a namespace, a version; in printing order."""
    meta = (await world.create())["metadata"]
    assert list(meta) == ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
    assert (meta["namespace"], meta["resourceVersion"]) == ("ns", "1")
    assert meta["creationTimestamp"] == "2023-11-14T22:13:20Z"


async def test_the_answer_is_what_is_stored(world: World) -> None:
    """Byte for byte."""
    target = Target(resource=CONFIGMAPS, namespace="ns")
    written = await world.operations.create(target, configmap({"a": "b"}), WHO)
    found = await world.store.get(TARGET.key)
    assert found is not None
    assert (written.value, written.created) == (found.value, True)


async def test_what_the_server_decides_is_not_taken_from_the_client(world: World) -> None:
    """Nobody is born dying, or with a uid of its choice."""
    sent = configmap(
        uid="mine", creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x",
        deletionTimestamp="2001-01-01T00:00:00Z", deletionGracePeriodSeconds=5,
    )  # fmt: skip
    meta = (await world.create(sent))["metadata"]
    assert meta["uid"] != "mine"
    assert meta["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(meta)


async def test_admission_is_asked_before_and_behind(world: World) -> None:
    """Once each."""
    await world.create()
    assert world.spy.asked == [("mutate", "CREATE"), ("validate", "CREATE")]


async def test_a_taken_name_is_409(world: World) -> None:
    """And the object stays what it was."""
    await world.create(configmap({"a": "1"}))
    error = await refused(world.create(configmap({"a": "2"})))
    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert error.message == 'configmaps "n" already exists'
    assert world.kinds() == [EventType.CREATED]


async def test_the_name_of_a_dying_object_is_taken(world: World) -> None:
    """409 says that it is going away."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    error = await refused(world.create())
    assert error.message == 'object is being deleted: configmaps "n" already exists'


async def test_a_taken_name_given_beside_a_prefix(world: World) -> None:
    """Is answered as if it had been made from it, once."""
    await world.create(configmap(finalizers=["a/b"]))
    sent = configmap(generateName="p-")
    sent["metadata"]["name"] = "n"
    error = await refused(world.create(sent))
    words = (
        'configmaps "n" already exists, '
        "the server was not able to generate a unique name for the object"
    )
    assert (error.code, error.retry_after, error.message) == (409, 1, words)
    await world.delete()
    error = await refused(world.create(sent))
    assert error.message == f"object is being deleted: {words}"


async def test_a_limit_range_needs_no_name(world: World) -> None:
    """It gets a uid for one, which is not its own."""
    target = Target(resource=RESOURCES["", "v1", "limitranges"], namespace="ns")
    sent: Object = {
        "kind": "LimitRange",
        "apiVersion": "v1",
        "metadata": {},
        "spec": {"limits": []},
    }
    meta = shown(await world.operations.create(target, sent, WHO))["metadata"]
    assert len(meta["name"]) == len(meta["uid"]) == 36
    assert meta["name"] != meta["uid"]


async def test_addresses_are_not_made_up(world: World) -> None:
    """What the name of an IPAddress is made from is its name."""
    target = Target(resource=RESOURCES["networking.k8s.io", "v1", "ipaddresses"], namespace="")
    sent: Object = {
        "kind": "IPAddress",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"generateName": "192.0.2.1"},
        "spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "ns"}},
    }
    meta = shown(await world.operations.create(target, sent, WHO))["metadata"]
    assert meta["name"] == "192.0.2.1"


async def test_another_namespace_than_the_paths_is_400(world: World) -> None:
    """The path decides."""
    error = await refused(world.create(configmap(namespace="other")))
    assert error.code == 400
    assert error.message.startswith("the namespace of the provided object does not match")


async def test_a_new_object_has_no_version(world: World) -> None:
    """Zero means none, as for every client library."""
    error = await refused(world.create(configmap(resourceVersion="5")))
    assert error.message == "resourceVersion should not be set on objects to be created"
    for number, version in enumerate(["0", "", "text"]):
        made = await world.create(configmap(name=f"n{number}", resourceVersion=version))
        assert made["metadata"]["resourceVersion"] == str(number + 1)


async def test_a_name_that_is_none_is_422(world: World) -> None:
    """And nothing is stored."""
    error = await refused(world.create(configmap(name="NOT A NAME")))
    assert (error.code, error.reason) == (422, "Invalid")
    assert world.store.log == []


async def test_labels_that_a_job_gets_when_stored_are_not_checked(world: World) -> None:
    """They are its template's, which were checked."""
    jobs = RESOURCES["batch", "v1", "jobs"]
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"kind": "Job", "apiVersion": "batch/v1", "spec": {"template": {"spec": pod}}}

    async def create(name: str) -> Object:
        target = Target(resource=jobs, namespace="ns")
        given = {"metadata": {"name": name}, **orjson.loads(orjson.dumps(job))}
        jobs.rules.default(given)
        return shown(await world.operations.create(target, given, WHO))

    made = await create("n")
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    error = await refused(create("n" * 64))
    causes = (error.details or {})["causes"]
    assert {cause["field"] for cause in causes} == {"spec.template.labels"}


# ---------------------------------------------------------------- generated names


async def test_a_generated_name_has_its_prefix(world: World) -> None:
    """And five characters that spell no words."""
    meta = (await world.create(configmap(generateName="pre-")))["metadata"]
    prefix, suffix = meta["name"][:4], meta["name"][4:]
    assert prefix == "pre-"
    assert len(suffix) == 5
    assert not set(suffix) & set("aeiou013")


async def test_a_taken_generated_name_is_drawn_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a uid of its own each time; the client does not notice."""
    draws = iter(["aaaaa", "aaaaa", "bbbbb"])
    monkeypatch.setattr(deciding, "generated_suffix", lambda _: next(draws))
    first = await world.create(configmap(generateName="p-"))
    second = await world.create(configmap(generateName="p-"))
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("p-aaaaa", "p-bbbbb")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_names_run_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After eight draws: 409 with advice to come back (KEP-4420)."""
    draws: list[str] = []

    def draw(_: object) -> str:
        draws.append("aaaaa")
        return draws[-1]

    monkeypatch.setattr(deciding, "generated_suffix", draw)
    await world.create(configmap(generateName="p-"))
    draws.clear()
    error = await refused(world.create(configmap(generateName="p-")))
    assert len(draws) == GENERATE_ATTEMPTS == 8
    assert (error.code, error.reason, error.retry_after) == (409, "AlreadyExists", 1)
    assert error.message == (
        'configmaps "p-aaaaa" already exists, '
        "the server was not able to generate a unique name for the object"
    )


async def test_a_name_beats_a_prefix(world: World) -> None:
    """Both may be given; the name is used as it is."""
    meta = (await world.create(configmap(name="n", generateName="p-")))["metadata"]
    assert (meta["name"], meta["generateName"]) == ("n", "p-")


# ---------------------------------------------------------------- update


async def test_an_update_without_version_is_tried_again(world: World) -> None:
    """Somebody else was faster: the change is made again on the newer object."""
    await world.create()
    seen: list[str] = []

    async def change(old: Object | None) -> Object:
        assert old is not None
        seen.append(old["metadata"]["resourceVersion"])
        if len(seen) < 3:
            await world.touch()
        return configmap({"mine": seen[-1]})

    written = shown(await world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert seen == ["1", "2", "3"]
    assert written["data"] == {"mine": "3"}


async def test_an_update_with_version_is_409_when_it_is_old(world: World) -> None:
    """The client must look first; nothing is tried again."""
    made = await world.create()
    await world.touch()
    old = configmap({"a": "b"}, resourceVersion=made["metadata"]["resourceVersion"])
    error = await refused(world.update(old))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on configmaps "n": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_a_pinned_update_that_loses_the_race_is_409(world: World) -> None:
    """The version was right when it was checked, and not when it was written."""
    await world.create()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        await world.touch()
        return configmap({"a": "b"}, resourceVersion="1")

    error = await refused(world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert (error.code, error.reason, calls) == (409, "Conflict", 1)


async def test_a_patch_does_not_insist_on_the_version_it_was_made_from(world: World) -> None:
    """It is tried again when somebody else was faster, unless it names another version."""
    await world.create()
    seen: list[str] = []

    async def change(old: Object | None) -> Object:
        assert old is not None
        seen.append(old["metadata"]["resourceVersion"])
        if len(seen) == 1:
            await world.touch()
        return configmap({"mine": seen[-1]}, resourceVersion=seen[-1])

    update = world.operations.change
    written = shown(await update(TARGET, change, WHO, uid_is_precondition=False))
    assert (seen, written["data"]) == (["1", "2"], {"mine": "2"})
    other = world.update(configmap(resourceVersion="2"), uid_is_precondition=False)
    assert (await refused(other)).code == 409


async def test_an_update_that_never_wins_gives_up(world: World) -> None:
    """409 at last, not a loop without end."""
    await world.create()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        await world.touch()
        return configmap({"a": "b"})

    error = await refused(world.operations.change(TARGET, change, WHO, uid_is_precondition=True))
    assert (error.code, calls) == (409, UPDATE_ATTEMPTS)


@pytest.mark.parametrize("version", [None, "1", "0", ""])
async def test_an_update_that_changes_nothing_writes_nothing(
    world: World, version: str | None
) -> None:
    """The same version comes back and no watcher hears of it."""
    made = await world.create(configmap({"a": "b"}))
    more = {} if version is None else {"resourceVersion": version}
    again = await world.update(configmap({"a": "b"}, **more))
    assert again == made
    assert world.kinds() == [EventType.CREATED]


async def test_identity_is_kept(world: World) -> None:
    """Whatever the client sends or leaves out."""
    made = await world.create(configmap(labels={"a": "b"}))
    sent = configmap({"k": "v"}, creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x")
    meta = (await world.update(sent))["metadata"]
    for member in ("uid", "creationTimestamp", "namespace"):
        assert meta[member] == made["metadata"][member]
    assert "labels" not in meta
    assert "selfLink" not in meta


async def test_a_uid_is_a_precondition_of_a_put(world: World) -> None:
    """409 for another object of the same name."""
    made = await world.create()
    error = await refused(world.update(configmap({"a": "b"}, uid="other")))
    assert error.code == 409
    assert f"UID in object meta: {made['metadata']['uid']}" in error.message


async def test_a_uid_in_a_patch_is_a_change(world: World) -> None:
    """And that field is immutable: 422."""
    await world.create()
    call = world.update(configmap({"a": "b"}, uid="other"), uid_is_precondition=False)
    error = await refused(call)
    assert error.code == 422
    assert "field is immutable" in error.message


async def test_a_malformed_version_is_an_error_of_the_server(world: World) -> None:
    """500, as kube-apiserver has it."""
    await world.create()
    error = await refused(world.update(configmap(resourceVersion="abc")))
    assert (error.code, error.message) == (500, 'strconv.ParseUint: parsing "abc": invalid syntax')


async def test_what_is_not_there_is_404(world: World) -> None:
    """Updates of most kinds create nothing."""
    error = await refused(world.update(configmap()))
    assert (error.code, error.message) == (404, 'configmaps "n" not found')


async def test_apply_creates_what_is_not_there(world: World) -> None:
    """Of any kind."""
    who = WHO._replace(field_manager="m")
    written = await world.operations.apply(TARGET, Configuration(configmap), who)
    assert (shown(written)["metadata"]["name"], written.created) == ("n", True)
    assert world.kinds() == [EventType.CREATED]


async def test_a_put_creates_a_lease(world: World) -> None:
    """Its kind allows it, unless the client names the uid of something that is gone.

    The version of something that is gone does not matter, but must be one.
    """
    target = Target(resource=LEASES, namespace="ns", name="n")

    async def put(**meta: Any) -> Written:
        kind = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": {}}
        body: Object = {**kind, "metadata": {"name": "n", **meta}}
        return await world.operations.replace(target, body, WHO)

    error = await refused(put(uid="u"))
    assert error.code == 409
    assert error.message == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "n": StorageError: invalid '
        "object, Code: 4, Key: /registry/leases/ns/n, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: u, UID in object meta: "
    )
    error = await refused(put(resourceVersion="-1"))
    assert (error.code, error.message) == (500, 'strconv.ParseUint: parsing "-1": invalid syntax')
    assert (await put(resourceVersion="7")).created


async def test_admission_is_asked_again_on_each_try(world: World) -> None:
    """It must see what will be stored."""
    await world.create()
    world.spy.asked.clear()
    calls = 0

    async def change(old: Object | None) -> Object:
        nonlocal calls
        calls += 1
        if calls == 1:
            await world.touch()
        return configmap({"a": "b"})

    await world.operations.change(TARGET, change, WHO, uid_is_precondition=True)
    assert world.spy.asked == [("mutate", "UPDATE"), ("validate", "UPDATE")] * 2


async def test_concurrent_updates_all_count(world: World) -> None:
    """No change of unpinned writers is lost."""
    await world.create()

    async def add(number: int) -> None:
        async def change(old: Object | None) -> Object:
            assert old is not None
            await trio.lowlevel.checkpoint()
            return configmap({**old.get("data", {}), f"k{number}": "v"})

        await world.operations.change(TARGET, change, WHO, uid_is_precondition=True)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(add, number)
    found = await world.store.get(TARGET.key)
    assert found is not None
    assert set(orjson.loads(found.value)["data"]) == {f"k{number}" for number in range(8)}


# ---------------------------------------------------------------- dry run


async def test_a_dry_create_stores_nothing(world: World) -> None:
    """Every stage runs: the object is shown without a version, admission is asked."""
    made = await world.create(options=DRY)
    assert "resourceVersion" not in made["metadata"]
    assert made["metadata"]["uid"]
    assert world.spy.asked == [("mutate", "CREATE"), ("validate", "CREATE")]
    assert world.store.log == []


async def test_a_dry_create_of_a_taken_name_is_409(world: World) -> None:
    """As it would be in earnest."""
    await world.create()
    error = await refused(world.create(options=DRY))
    assert (error.code, error.reason) == (409, "AlreadyExists")


async def test_a_dry_update_stores_nothing(world: World) -> None:
    """The answer shows the change at the version that is stored."""
    made = await world.create()
    answer = await world.update(configmap({"a": "b"}), DRY)
    assert answer["data"] == {"a": "b"}
    assert answer["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert world.kinds() == [EventType.CREATED]


@pytest.mark.parametrize("finalizers", [[], ["a/b"]])
async def test_a_dry_deletion_stores_nothing(world: World, finalizers: list[str]) -> None:
    """It says whether the object would be gone."""
    await world.create(configmap(finalizers=finalizers))
    _, gone = await world.delete(dry_run=True)
    assert gone is not bool(finalizers)
    assert world.kinds() == [EventType.CREATED]


# ---------------------------------------------------------------- delete


async def test_a_deletion_removes(world: World) -> None:
    """One event, and the last state with the version of the deletion."""
    await world.create()
    last, gone = await world.delete()
    assert gone
    assert last["metadata"]["resourceVersion"] == "2"
    assert world.kinds() == [EventType.CREATED, EventType.DELETED]


async def test_finalizers_hold_an_object(world: World) -> None:
    """Marked once; the update that removes the last finalizer removes the object."""
    await world.create(configmap(finalizers=["a/b"]))
    last, gone = await world.delete()
    assert not gone
    assert last["metadata"]["deletionTimestamp"]
    await world.delete()
    assert world.kinds() == [EventType.CREATED, EventType.UPDATED]
    answer = await world.update(configmap())
    assert world.kinds() == [EventType.CREATED, EventType.UPDATED, EventType.DELETED]
    assert "finalizers" not in answer["metadata"]
    assert await world.store.get(TARGET.key) is None


async def test_the_last_update_answers_with_the_stored_version(world: World) -> None:
    """What the client gets was never stored, so it has the version that it was made from."""
    await world.create(configmap(finalizers=["a/b"]))
    marked, _ = await world.delete()
    answer = await world.update(configmap({"k": "v"}))
    assert answer["data"] == {"k": "v"}
    assert answer["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]


async def test_a_dying_object_keeps_its_grace(world: World) -> None:
    """Leaving it out changes nothing, another one is refused."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    answer = await world.update(configmap({"k": "v"}, finalizers=["a/b"]))
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 0
    longer = configmap(finalizers=["a/b"], deletionGracePeriodSeconds=17)
    error = await refused(world.update(longer))
    assert error.message.endswith(
        "metadata.deletionGracePeriodSeconds: Invalid value: 17: field is immutable"
    )


async def test_watchers_see_the_state_that_was_stored(world: World) -> None:
    """Not the one of the update that removed the object."""
    await world.create(configmap({"a": "1"}, finalizers=["a/b"]))
    await world.delete()
    await world.update(configmap({"a": "2"}))
    last = orjson.loads(world.store.log[-1].event.value)
    assert last["data"] == {"a": "1"}
    assert last["metadata"]["finalizers"] == ["a/b"]
    assert last["metadata"]["resourceVersion"] == "3"


async def test_a_dying_object_stays_dying(world: World) -> None:
    """An update cannot bring it back."""
    await world.create(configmap(finalizers=["a/b"]))
    marked, _ = await world.delete()
    answer = await world.update(configmap({"k": "v"}, finalizers=["a/b"]))
    stamp_of = "deletionTimestamp"
    assert answer["metadata"][stamp_of] == marked["metadata"][stamp_of]


async def test_a_dying_object_gets_no_new_finalizers(world: World) -> None:
    """422 in kube-apiserver's words."""
    await world.create(configmap(finalizers=["a/b"]))
    await world.delete()
    error = await refused(world.update(configmap(finalizers=["a/b", "c/d"])))
    assert error.code == 422
    assert "no new finalizers can be added if the object is being deleted" in error.message


async def test_a_deletion_is_tried_again(world: World) -> None:
    """When somebody writes between its read and its write."""
    await world.create()
    delete = world.store.delete
    tries = 0

    async def racing(key: str, last: Any, *, expected: int) -> KeyValue:
        nonlocal tries
        tries += 1
        if tries == 1:
            await world.touch()
        return await delete(key, last, expected=expected)

    world.store.delete = racing  # type: ignore[method-assign]
    _, gone = await world.delete()
    assert (gone, tries) == (True, 2)


async def test_a_deletion_of_a_version_is_409_when_it_is_old(world: World) -> None:
    """The object stays."""
    await world.create()
    await world.touch()
    error = await refused(world.delete(resource_version="1"))
    assert (error.code, error.reason) == (409, "Conflict")
    assert await world.store.get(TARGET.key) is not None


async def test_a_deletion_of_nothing_is_404(world: World) -> None:
    """Admission is not asked about what is not there."""
    error = await refused(world.delete())
    assert (error.code, error.message) == (404, 'configmaps "n" not found')
    assert world.spy.asked == []


# ---------------------------------------------------------------- generations


def deployment(replicas: int, **meta: Any) -> Object:
    labels = {"app": "x"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    sent = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", **meta},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    obj: Object = scheme_of("apps").decode(DEPLOYMENTS.group_version_kind, sent, Report(), {})
    DEPLOYMENTS.rules.default(obj)
    return obj


async def test_generations_of_deployments(world: World) -> None:
    """One at first, one more for each change of the spec, whatever was sent."""
    target = Target(resource=DEPLOYMENTS, namespace="ns", name="d")

    async def put(new: Object) -> int:
        async def change(old: Object | None) -> Object:
            return new

        meta = shown(await world.operations.change(target, change, WHO, uid_is_precondition=True))[
            "metadata"
        ]
        return int(meta["generation"])

    made = await world.operations.create(target, deployment(1, generation=77), WHO)
    assert shown(made)["metadata"]["generation"] == 1
    assert await put(deployment(2)) == 2
    assert await put(deployment(2, labels={"a": "b"})) == 2
    assert await put(deployment(3, generation=55)) == 3


# ---------------------------------------------------------------- time to live


def event(api_version: str) -> Object:
    """An Event, as simple as its version allows."""
    return {
        "kind": "Event",
        "apiVersion": api_version,
        "metadata": {"name": "e"},
        "reason": "Tested",
        "type": "Normal",
        "involvedObject": {"namespace": "ns"},
    }


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
async def test_events_have_a_time_to_live(
    world: World, autojump_clock: MockClock, group: str
) -> None:
    """In both groups, since their kind says so; an update renews it, as kube-apiserver's does."""
    kind = RESOURCES[group, "v1", "events"]
    target = Target(resource=kind, namespace="ns", name="e")
    obj = event("v1")
    who = WriteOptions(user=USER, own=True)  # the rules of Events are not what is looked at
    await world.operations.create(target, obj, who)
    await world.create()
    await trio.sleep(3000)

    async def change(old: Object | None) -> Object:
        assert old is not None
        return {**old, "reason": "Again"}

    await world.operations.change(target, change, who, uid_is_precondition=True)
    await trio.sleep(3000)
    await world.store.expire()
    assert await world.store.get(target.key) is not None
    await trio.sleep(601)
    await world.store.expire()
    assert list(world.store.state()) == [TARGET.key]
