"""How a write begins: names, and what of an object is the server's."""

from __future__ import annotations

import orjson

from kubetrio.resources.writes import Target

from .world import (
    RESOURCES,
    WHO,
    Object,
    World,
    configmap,
    refused,
    shown,
)


async def test_a_new_object_gets_its_identity(world: World) -> None:
    """A uid, a time, a namespace, a version; in printing order."""
    meta = (await world.create())["metadata"]
    assert list(meta) == ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
    assert (meta["namespace"], meta["resourceVersion"]) == ("ns", "1")
    assert meta["creationTimestamp"] == "2023-11-14T22:13:20Z"


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


async def test_a_generated_name_has_its_prefix(world: World) -> None:
    """And five characters that spell no words."""
    meta = (await world.create(configmap(generateName="pre-")))["metadata"]
    prefix, suffix = meta["name"][:4], meta["name"][4:]
    assert prefix == "pre-"
    assert len(suffix) == 5
    assert not set(suffix) & set("aeiou013")


async def test_a_name_beats_a_prefix(world: World) -> None:
    """Both may be given; the name is used as it is."""
    meta = (await world.create(configmap(name="n", generateName="p-")))["metadata"]
    assert (meta["name"], meta["generateName"]) == ("n", "p-")
