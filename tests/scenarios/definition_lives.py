"""The life of a custom kind, from its definition to the deletion of that, over any connection.

A file in ``definitions/`` holds three documents: a CustomResourceDefinition in the shape of one
that a popular operator ships, an object of it, and what is expected:

==========  ====================================================================================
read        paths and what stands there after the object was created as it is in the file
gone        paths that are not kept
refused     merge patches of the object (or of a ``subresource``), and a text of each refusal
second      what another manager applies, which conflicts at the paths ``conflict``
merged      paths and what stands there after that was forced
status      what is written as status
scale       path of the replicas that the subresource ``scale`` sets
row         the cells of the object in a Table, without dates
selector    a field selector that finds the object (``yes``) and one that does not (``no``)
versions    further versions, with paths and what stands there in each
warned      versions, and the warning that comes with each
hidden      versions that are not served
==========  ====================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import trio
import yaml

Object = dict[str, Any]
FOLDER = Path(__file__).with_name("definitions")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
ADDED = {"type": "string", "default": "since the upgrade"}
LIMIT_S = 20.0


class Reply(Protocol):
    """An answer."""

    @property
    def status(self) -> int:
        """HTTP status code."""

    def json(self) -> Any:
        """The body."""

    def header(self, name: str) -> str:
        """A header, empty where there is none."""


class Connection(Protocol):
    """A way to a server."""

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Reply:
        """Send a request with a JSON body."""

    async def watched(
        self, target: str, number: int, headers: Mapping[str, str] | None = None
    ) -> list[Object]:
        """The first events of a watch."""


@dataclass(frozen=True, slots=True)
class Case:
    """A file.

    Args:
        name: of the file.
        definition: the first document.
        object: the second.
        expected: the third.
    """

    name: str
    definition: Object
    object: Object
    expected: Object = field(default_factory=dict)

    @property
    def plural(self) -> str:
        """Plural name."""
        return str(self.definition["spec"]["names"]["plural"])

    @property
    def name_of_definition(self) -> str:
        """Name of the definition."""
        return str(self.definition["metadata"]["name"])

    @property
    def versions(self) -> Sequence[Object]:
        """What is said of each version."""
        found: list[Object] = self.definition["spec"]["versions"]
        return found

    def group_version(self, version: str = "") -> str:
        """Such as ``example.com/v1``; the version of the object by default."""
        group, _, own = self.object["apiVersion"].partition("/")
        return f"{group}/{version or own}"

    def collection(self, version: str = "") -> str:
        """Path of the collection in which the object is."""
        place = "/namespaces/default" if self.definition["spec"]["scope"] == "Namespaced" else ""
        return f"/apis/{self.group_version(version)}{place}/{self.plural}"

    def path(self, version: str = "") -> str:
        """Path of the object."""
        return f"{self.collection(version)}/{self.object['metadata']['name']}"


def load(file: Path) -> Case:
    """Read a file."""
    return Case(file.stem, *yaml.safe_load_all(file.read_text()))


def cases() -> list[Case]:
    """All of them, by name."""
    return [load(file) for file in sorted(FOLDER.glob("*.yaml"))]


_ABSENT = object()


def at(obj: Any, path: str) -> Any:
    """What stands at a path; a key may hold dots when no shorter one is there."""
    parts = path.split(".")
    for index, part in enumerate(parts):
        if isinstance(obj, list):
            obj = obj[int(part)] if int(part) < len(obj) else _ABSENT
        elif isinstance(obj, dict) and part in obj:
            obj = obj[part]
        else:
            rest = ".".join(parts[index:])
            return obj.get(rest, _ABSENT) if isinstance(obj, dict) else _ABSENT
    return obj


def holds(obj: Object, expected: Mapping[str, Any]) -> None:
    """Hold an object against paths."""
    for path, value in expected.items():
        assert at(obj, path) == value, (path, at(obj, path))


class Life:
    """A life of a kind.

    Args:
        connection: the way to a server.
        case: the kind.
    """

    def __init__(self, connection: Connection, case: Case) -> None:
        self._ask = connection.ask
        self._watched = connection.watched
        self.case = case
        self._revision = ""
        self._told: list[str] = []

    async def wants(
        self,
        status: int,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Any:
        """Ask, and hold the answer's status code against a number."""
        reply = await self._ask(method, target, headers, body)
        # What no resource has a path for is "404 page not found", in plain text.
        found = reply.json() if "json" in reply.header("content-type") else None
        assert reply.status == status, (method, target, reply.status, found)
        return found

    async def lived(self) -> None:
        """All of it."""
        await self.installed()
        await self.described()
        await self.created()
        await self.refused()
        await self.applied()
        await self.with_status()
        await self.scaled()
        await self.shown()
        await self.selected()
        await self.in_versions()
        await self.watched()
        await self.upgraded()
        await self.deleted()

    async def installed(self) -> None:
        """Stored as sent, and established."""
        case = self.case
        await self.wants(201, "POST", DEFINITIONS, None, case.definition)
        with trio.fail_after(LIMIT_S):
            while True:
                found = await self.wants(200, "GET", f"{DEFINITIONS}/{case.name_of_definition}")
                said = {
                    one["type"]: one["status"] for one in found["status"].get("conditions") or ()
                }
                reply = await self._ask("GET", case.collection())
                if said.get("Established") == "True" and reply.status == 200:
                    break
                await trio.sleep(0.05)
        assert said["NamesAccepted"] == "True"
        assert "NonStructuralSchema" not in said
        self._revision = reply.json()["metadata"]["resourceVersion"]
        assert reply.json()["kind"] == found["spec"]["names"]["listKind"]

    async def described(self) -> None:
        """Discovery lists it, and OpenAPI v3 has the schema, with the metadata of any object."""
        case = self.case
        names = case.definition["spec"]["names"]
        found = await self.wants(200, "GET", f"/apis/{case.group_version()}")
        mine = next(one for one in found["resources"] if one["name"] == case.plural)
        assert mine["kind"] == names["kind"]
        assert mine.get("shortNames") == names.get("shortNames")
        assert mine.get("categories") == names.get("categories")
        await self._documented(lambda schema: "metadata" in schema["properties"])
        await self._documented(self._as_said)

    def _as_said(self, schema: Object) -> bool:
        version = self._own_version()
        said = version["schema"]["openAPIV3Schema"].get("properties", {})
        return set(said) <= set(schema["properties"]) and all(
            schema["properties"][name].get("type") == said[name].get("type")
            for name in ("spec", "status")
            if name in said
        )

    def _own_version(self) -> Object:
        own = self.case.object["apiVersion"].partition("/")[2]
        return next(one for one in self.case.versions if one["name"] == own)

    async def _documented(self, fits: Any) -> None:
        """Wait until the OpenAPI document says something of the kind."""
        case = self.case
        with trio.fail_after(LIMIT_S):
            while True:
                reply = await self._ask("GET", f"/openapi/v3/apis/{case.group_version()}")
                if reply.status == 200:
                    schemas = reply.json()["components"]["schemas"]
                    mine = [
                        one
                        for one in schemas.values()
                        if any(
                            gvk["kind"] == case.object["kind"]
                            for gvk in one.get("x-kubernetes-group-version-kind") or ()
                        )
                    ]
                    if mine and fits(mine[0]):
                        return
                await trio.sleep(0.05)

    async def created(self) -> None:
        """Defaulted and pruned; another time it is there already."""
        case = self.case
        made = await self.wants(
            201, "POST", f"{case.collection()}?fieldManager=first", None, case.object
        )
        self._told.append("ADDED")
        holds(made, case.expected.get("read") or {})
        for path in case.expected.get("gone") or ():
            assert at(made, path) is _ABSENT, (path, at(made, path))
        assert made["metadata"]["generation"] == 1
        assert {one["manager"] for one in made["metadata"]["managedFields"]} == {"first"}
        await self.wants(409, "POST", case.collection(), None, case.object)
        assert await self.wants(200, "GET", case.path()) == made
        strict = f"{case.path()}?fieldValidation=Strict&dryRun=All"
        again = await self.wants(200, "PUT", strict, None, made)
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    async def refused(self) -> None:
        """What is not valid, with a cause."""
        case = self.case
        before = await self.wants(200, "GET", case.path())
        for one in case.expected["refused"]:
            path = case.path() + (f"/{one['subresource']}" if "subresource" in one else "")
            found = await self.wants(422, "PATCH", path, MERGE, one["patch"])
            assert found["reason"] == "Invalid"
            assert one["because"] in found["message"], found["message"]
        assert await self.wants(200, "GET", case.path()) == before

    async def applied(self) -> None:
        """Two managers: the second conflicts, then takes over; the first can take it back."""
        case, expected = self.case, self.case.expected
        meta = {name: case.object["metadata"][name] for name in ("name",)}
        head = {"apiVersion": case.object["apiVersion"], "kind": case.object["kind"]}
        body = {**head, "metadata": meta, **expected["second"]}
        path = f"{case.path()}?fieldManager=second"
        if expected["conflict"]:
            found = await self.wants(409, "PATCH", path, APPLY, body)
            told = [cause["field"] for cause in found["details"]["causes"]]
            assert sorted(told) == sorted(expected["conflict"]), told
            assert {cause["reason"] for cause in found["details"]["causes"]} == {
                "FieldManagerConflict"
            }
        new = await self.wants(200, "PATCH", f"{path}&force=true", APPLY, body)
        self._told.append("MODIFIED")
        holds(new, expected.get("merged") or {})
        owners = {one["manager"]: one for one in new["metadata"]["managedFields"]}
        assert owners["second"]["operation"] == "Apply"
        assert new["metadata"]["generation"] == 2
        again = await self.wants(200, "PATCH", path, APPLY, body)
        assert again == new

    async def with_status(self) -> None:
        """Through the subresource, where there is one, and leaving all else alone."""
        case, status = self.case, self.case.expected.get("status")
        has = "status" in (self._own_version().get("subresources") or {})
        before = await self.wants(200, "GET", case.path())
        if not has:
            await self.wants(404, "GET", f"{case.path()}/status")
        if status is None:
            return
        path = case.path() + ("/status" if has else "")
        found = await self.wants(200, "PATCH", path, MERGE, {"status": status, "spec": None} if has
                                 else {"status": status})  # fmt: skip
        self._told.append("MODIFIED")
        for name in status:
            assert found["status"][name] is not None or status[name] is None
        assert found["spec"] == before["spec"]
        assert (found["metadata"]["generation"] == before["metadata"]["generation"]) == has

    async def scaled(self) -> None:
        """Through the subresource, as by an autoscaler."""
        case, replicas = self.case, self.case.expected.get("scale")
        if replicas is None:
            await self.wants(404, "GET", f"{case.path()}/scale")
            return
        scale = await self.wants(200, "GET", f"{case.path()}/scale")
        assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
        obj = await self.wants(200, "GET", case.path())
        assert scale["spec"]["replicas"] == at(obj, replicas[1:])
        assert scale["status"].get("selector") == at(obj, "status").get("selector")
        patch = {"spec": {"replicas": 4}}
        found = await self.wants(200, "PATCH", f"{case.path()}/scale", MERGE, patch)
        self._told.append("MODIFIED")
        assert found["spec"]["replicas"] == 4
        obj = await self.wants(200, "GET", case.path())
        assert at(obj, replicas[1:]) == 4
        bad = {"spec": {"replicas": -1}}
        await self.wants(422, "PATCH", f"{case.path()}/scale", MERGE, bad)
        back = {"spec": {"replicas": scale["spec"]["replicas"]}}
        await self.wants(200, "PATCH", f"{case.path()}/scale", MERGE, back)
        self._told.append("MODIFIED")

    async def shown(self) -> None:
        """As a row."""
        case = self.case
        storage = next(one["name"] for one in case.versions if one["storage"])
        version = storage if case.expected.get("versions") else ""
        found = await self.wants(200, "GET", case.collection(version), {"Accept": TABLE})
        told = found["columnDefinitions"]
        kept = [index for index, one in enumerate(told) if one["type"] != "date"]
        [row] = found["rows"]
        assert row["object"]["kind"] == "PartialObjectMetadata"
        cells = [row["cells"][index] for index in kept if told[index]["name"] != "Age"]
        assert cells == case.expected["row"], cells

    async def selected(self) -> None:
        """By fields."""
        case = self.case
        for answer, selector in (case.expected.get("selector") or {}).items():
            yes = answer in ("yes", True)
            found = await self.wants(200, "GET", f"{case.collection()}?fieldSelector={selector}")
            assert bool(found["items"]) == yes
        reply = await self._ask("GET", f"{case.collection()}?fieldSelector=spec.nothing=x")
        assert reply.status == 400

    async def in_versions(self) -> None:
        """The same object in each of its versions; what is not served is not there."""
        case = self.case
        for version, paths in (case.expected.get("versions") or {}).items():
            reply = await self._ask("GET", case.path(version))
            found = reply.json()
            assert found["apiVersion"] == case.group_version(version)
            holds(found, paths)
            warned = (case.expected.get("warned") or {}).get(version, "")
            assert warned in reply.header("warning")
            assert bool(warned) == bool(reply.header("warning"))
            await self._table_in(version)
            # Written back, it is the same in the other one.
            before = await self.wants(200, "GET", case.path())
            await self.wants(200, "PUT", case.path(version), None, found)
            after = await self.wants(200, "GET", case.path())
            assert after["spec"] == before["spec"]
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            if after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
                self._told.append("MODIFIED")
        for version in case.expected.get("hidden") or ():
            await self.wants(404, "GET", case.path(version))

    async def _table_in(self, version: str) -> None:
        """Rows of a version are of its own fields: of a list, of one object, and of events."""
        case, table = self.case, {"Accept": TABLE}
        shown = [await self.wants(200, "GET", case.collection(version), table)]
        for name, value in (case.expected.get("chosen") or {}).get(version, {}).items():
            chosen = f"{case.collection(version)}?fieldSelector={name}={value}"
            shown.append(await self.wants(200, "GET", chosen, table))
            other = await self.wants(200, "GET", f"{chosen}x")
            assert not other["items"]
        shown.append(await self.wants(200, "GET", case.path(version), table))
        since = f"{case.collection(version)}?watch=1&resourceVersion={self._revision}"
        event = (await self._watched(since, 1, table))[0]
        assert event["type"] == "ADDED", event
        shown.append(event["object"])
        wanted = (case.expected.get("cells") or {}).get(version)
        for one in shown:
            [row] = one["rows"]
            if wanted is not None:
                assert row["cells"][: len(wanted)] == wanted, row

    async def watched(self) -> None:
        """From before the object was made, all that was written."""
        case, told = self.case, self._told
        path = f"{case.collection()}?watch=1&resourceVersion={self._revision}"
        events = await self._watched(path, len(told))
        assert [event["type"] for event in events] == told
        assert {event["object"]["kind"] for event in events} == {case.object["kind"]}
        last = await self.wants(200, "GET", case.path())
        assert events[-1]["object"]["metadata"] == last["metadata"]
        told.clear()

    async def upgraded(self) -> None:
        """A field that an upgrade brings has its default in objects that are there already."""
        case = self.case
        path = f"{DEFINITIONS}/{case.name_of_definition}"
        definition = await self.wants(200, "GET", path)
        for version in definition["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            schema.setdefault("properties", {})["added"] = dict(ADDED)
        await self.wants(200, "PUT", path, None, definition)
        found = await self._until(
            case.path(), lambda reply: reply.status == 200 and "added" in reply.json()
        )
        assert found["added"] == ADDED["default"]
        await self._documented(lambda schema: "added" in schema["properties"])
        # Whoever watched begins anew, for kube-apiserver keeps no history over such a change.
        found = await self.wants(200, "GET", case.collection())
        self._revision = found["metadata"]["resourceVersion"]
        labelled = {"metadata": {"labels": {"since": "upgrade"}}}
        await self.wants(200, "PATCH", case.path(), MERGE, labelled)
        self._told.append("MODIFIED")

    async def deleted(self) -> None:
        """The object, seen by a watch from before it was made; then the definition with another."""
        case = self.case
        await self.wants(200, "DELETE", case.path())
        self._told.append("DELETED")
        await self._deletion_seen()
        left = {**case.object, "metadata": {**case.object["metadata"], "finalizers": ["a.io/b"]}}
        await self.wants(201, "POST", case.collection(), None, left)
        await self.wants(200, "DELETE", f"{DEFINITIONS}/{case.name_of_definition}")
        await self._until(
            case.path(), lambda reply: "deletionTimestamp" in reply.json()["metadata"]
        )
        await self.wants(200, "PATCH", case.path(), MERGE, {"metadata": {"finalizers": None}})
        definition = f"{DEFINITIONS}/{case.name_of_definition}"
        await self._until(definition, lambda reply: reply.status == 404)
        await self._until(case.collection(), lambda reply: reply.status == 404)

    async def _until(self, target: str, fits: Callable[[Reply], bool]) -> Any:
        """What is answered once it fits."""
        with trio.fail_after(LIMIT_S):
            while True:
                reply = await self._ask("GET", target)
                if fits(reply):
                    return reply.json() if "json" in reply.header("content-type") else None
                await trio.sleep(0.05)

    async def _deletion_seen(self) -> None:
        path = f"{self.case.collection()}?watch=1&resourceVersion={self._revision}"
        events = await self._watched(path, len(self._told))
        assert [event["type"] for event in events] == self._told
        assert events[-1]["object"]["added"] == ADDED["default"]


def converted(obj: Object, wanted: str) -> Object:
    """What the conversion webhook of ``machinedeployments.yaml`` makes of an object."""
    if obj["apiVersion"] == wanted:
        return obj
    spec = json.loads(json.dumps(obj.get("spec") or {}))
    if wanted.endswith("v1beta1"):
        renamed = {"cluster": spec.pop("clusterName")} if "clusterName" in spec else {}
        surge = (spec.pop("rollout", None) or {}).get("strategy", {})
    else:
        renamed = {"clusterName": spec.pop("cluster")} if "cluster" in spec else {}
        surge = {}
        if "maxSurge" in spec:
            renamed["rollout"] = {"strategy": {"maxSurge": spec.pop("maxSurge")}}
    return {**obj, "apiVersion": wanted, "spec": {**renamed, **surge, **spec}}
