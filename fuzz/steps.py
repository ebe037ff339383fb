"""Sequences of requests about one object: made, changed in every way there is, read, deleted."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from fuzz.corpus import Custom, Object, Schema, leaves_and_parts, root
from fuzz.mutations import Mutator, dumps, shallow
from fuzz.options import (
    ACCEPTS,
    APPLY,
    BODIES,
    DELETE_OPTIONS,
    JSON,
    MANAGERS,
    MERGE,
    OWN,
    PATCH,
    PROTOBUF,
    QUERIES,
    STRATEGIC,
    STREAMED,
    TYPES,
)
from kubetrio.schema.kind import Kind


@dataclass(frozen=True)
class Step:
    """One request.

    Args:
        method: HTTP method.
        target: path and query.
        headers: names and values.
        body: what is sent, None for nothing.
        what: resource, subresource and way, for groups of answers.
        user: who asks, empty for the administrator.
        encode: name of the type as which a body in JSON goes out in protobuf, empty for as it is.
    """

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    what: str = ""
    user: str = ""
    encode: str = ""


@dataclass(frozen=True)
class Reply:
    """What came back.

    Args:
        status: HTTP status code.
        body: all of it.
        headers: lower-case names and values.
    """

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for key, value in self.headers if key == name]

    def json(self) -> Any:
        """The body as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


Send = Callable[[Step], Awaitable[Reply]]
ENCODED = frozenset({"create", "put", "status put"})
"""Ways whose body is an object of the resource."""


def collection(resource: Kind | Custom, namespace: str) -> str:
    """The path of a collection."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    inside = f"/namespaces/{quote(namespace, safe='')}" if resource.namespaced else ""
    return f"{root}/{resource.version}{inside}/{resource.resource}"


class Sequence:
    """Requests about one object, drawn as they go.

    Args:
        mutator: draws.
        resource: what the object is.
        base: an object to begin with.
        send: sends a request.
        portable: whether bodies leave out what only one server knows, such as uids.
        namespace: where the object goes, instead of its own namespace; one of the whole cluster
            gets a name that begins with it, so that no other object is touched.
        dry: whether nothing is stored.
        anchored: whether the first object is stored nevertheless.
        protobuf: whether bodies and answers are in protobuf.
    """

    def __init__(
        self,
        mutator: Mutator,
        resource: Kind | Custom,
        base: Object,
        send: Send,
        *,
        portable: bool = False,
        namespace: str = "",
        dry: bool = False,
        anchored: bool = False,
        protobuf: bool = False,
    ) -> None:
        self._mutator = mutator
        self._rng = mutator.rng
        self._resource = resource
        self._schema: Schema = root(resource)
        self._dry = dry
        self._anchored = anchored
        self._protobuf = protobuf and isinstance(resource, Kind)
        self._send = send
        self._portable = portable
        self._base = copy.deepcopy(base)
        meta = self._base["metadata"]
        for name in OWN:
            meta.pop(name, None)
        meta.setdefault("name", "fuzz")
        self._namespace = namespace or meta.get("namespace") or "default"
        if resource.namespaced:
            meta["namespace"] = self._namespace
        elif namespace:
            meta["name"] = f"{namespace}-{meta['name']}"
        self._base.setdefault("apiVersion", resource.api_version)
        self._base.setdefault("kind", resource.kind)
        self._collection = collection(resource, self._namespace)
        self._path = f"{self._collection}/{quote(str(meta['name']), safe='')}"
        ways: list[tuple[int, str, Callable[[str], Awaitable[None]]]] = []
        verbs = resource.verbs
        if "update" in verbs:
            ways += [(8, "", self._put), (2, "", self._bytes)]
        if "patch" in verbs:
            ways += [
                (3, "", self._merge),
                (3, "", self._strategic),
                (3, "", self._json_patch),
                (6, "", self._apply),
            ]
        if "get" in verbs:
            ways += [(2, "", self._read), (1, "", self._watch), (1, "", self._delete)]
        for name, sub in resource.subresources.items():
            if name in STREAMED:
                ways.append((1, name, self._read))
            elif name in BODIES:
                ways.append((2, name, self._own_body))
                if "patch" in sub.verbs:
                    ways += [(1, name, self._merge), (1, name, self._apply)]
            else:
                ways += [
                    (4, name, self._put),
                    (1, name, self._merge),
                    (1, name, self._strategic),
                    (1, name, self._json_patch),
                    (3, name, self._apply),
                    (1, name, self._read),
                ]
        self._ways = ways

    async def run(self, length: int) -> None:
        """Make the object and send so many further requests."""
        if self._dry and self._anchored:
            self._dry = False
            await self._create(self._base)
            self._dry = True
        made = await self._create(self._mutated(self._base, self._rng.choice((0, 1, 1, 2, 4))))
        if made.status >= 300 and "get" in self._resource.verbs:
            await self._create(self._base)
        weights = [weight for weight, _, _ in self._ways]
        for _ in range(length):
            if not self._ways:
                await self._create(self._mutated(self._base, self._rng.randint(1, 5)))
                continue
            _, sub, way = self._rng.choices(self._ways, weights)[0]
            await way(sub)
            if self._rng.random() < 0.3 and "get" in self._resource.verbs:
                await self._decodes()

    async def end(self) -> None:
        """Take the object away."""
        self._dry = False
        if "delete" in self._resource.verbs:
            if "patch" in self._resource.verbs:
                free = {"metadata": {"finalizers": None}}
                await self._ask("PATCH", self._path, "end", body=free, content=MERGE)
            await self._ask("DELETE", self._path, "delete", query={"gracePeriodSeconds": "0"})

    # ------------------------------------------------------------------ pieces

    def _mutated(self, value: Any, times: int, schema: Schema | None = None) -> Any:
        return self._mutator.mutated(value, schema or self._schema, times)

    async def _ask(
        self,
        method: str,
        path: str,
        way: str,
        *,
        body: Any = None,
        content: str = JSON,
        query: dict[str, str] | None = None,
        accept: str = "",
    ) -> Reply:
        headers = {"Content-Type": content} if body is not None else {}
        if accept:
            headers["Accept"] = accept
        elif self._protobuf:
            headers["Accept"] = PROTOBUF
        if self._dry and method != "GET":
            query = {**(query or {}), "dryRun": "All"}
        data = body if isinstance(body, bytes) or body is None else dumps(body)
        target = path + ("?" + urlencode(query) if query else "")
        what = f"{self._resource.group or 'core'}/{self._resource.resource} {way}"
        encode = ""
        if self._protobuf and way in ENCODED and content == JSON and body is not None:
            encode = self._schema["$ref"]
        return await self._send(Step(method, target, headers, data, what, encode=encode))

    def _query(self, *names: str) -> dict[str, str]:
        chosen = [name for name in names if self._rng.random() < 0.12]
        return {name: self._rng.choice(QUERIES[name]) for name in chosen}

    async def _create(self, value: Any) -> Reply:
        query = self._query("dryRun", "fieldValidation", "fieldManager", "pretty")
        if self._rng.random() < 0.05:
            return await self._ask(
                "POST", self._collection, "create", body=_yaml(value), content="application/yaml"
            )
        return await self._ask("POST", self._collection, "create", body=value, query=query)

    async def _current(self) -> Any:
        """The stored object, or that which it began with."""
        if "get" not in self._resource.verbs:
            return self._base
        reply = await self._ask("GET", self._path, "get")
        value = reply.json() if reply.status == 200 else None
        if not isinstance(value, dict) or not shallow(value):
            value = copy.deepcopy(self._base)
        meta = value.get("metadata", {})
        kept = {name: meta.pop(name) for name in OWN if name in meta}
        if self._portable:
            if "resourceVersion" in kept and self._rng.random() < 0.3:
                meta["resourceVersion"] = kept["resourceVersion"]
        else:
            for name in ("uid", "resourceVersion", "creationTimestamp", "generation"):
                if name in kept and self._rng.random() < 0.5:
                    meta[name] = kept[name]
            if "managedFields" in kept and self._rng.random() < 0.1:
                meta["managedFields"] = kept["managedFields"]
        return value

    def _with_status(self, value: Any) -> Any:
        """The object with a status of another one, or one that is drawn."""
        others = [o["status"] for o in self._others() if isinstance(o.get("status"), dict)]
        if isinstance(value, dict):
            if others and self._rng.random() < 0.6:
                value["status"] = copy.deepcopy(self._rng.choice(others))
            else:
                declared = self._mutator.value({"properties": {}, **self._schema}, "")
                if isinstance(declared, dict) and "status" in declared:
                    value["status"] = declared["status"]
        return value

    def _others(self) -> list[Object]:
        return self._mutator.bases(self._resource)

    async def _wanted(self, sub: str) -> Any:
        """The stored object, changed."""
        value = await self._current()
        if sub == "status" and self._rng.random() < 0.7:
            value = self._with_status(value)
        elif self._rng.random() < 0.2 and isinstance(value, dict):
            other = copy.deepcopy(self._rng.choice(self._others()))
            other.pop("metadata", None)
            value.update(other)
        return self._mutated(value, self._rng.choice((0, 1, 1, 1, 2, 3, 6)))

    # -------------------------------------------------------------------- ways

    def _at(self, sub: str) -> tuple[str, str]:
        return (f"{self._path}/{sub}", f"{sub} ") if sub else (self._path, "")

    async def _put(self, sub: str) -> None:
        path, name = self._at(sub)
        query = self._query("dryRun", "fieldValidation", "fieldManager", "pretty")
        await self._ask("PUT", path, f"{name}put", body=await self._wanted(sub), query=query)

    async def _bytes(self, sub: str) -> None:
        """The object as it is printed, with bytes that went wrong."""
        del sub
        media = self._rng.choice((JSON, "application/yaml", PROTOBUF))
        if self._portable:
            media = self._rng.choice((JSON, "application/yaml"))
            value = await self._current()
            printed = dumps(value) if media == JSON else _yaml(value)
        else:
            printed = (await self._ask("GET", self._path, "decode", accept=media)).body
        body = self._mutator.damaged(printed)
        await self._ask("PUT", self._path, "bytes put", body=body, content=media)

    async def _patch(self, sub: str, way: str, body: Any, content: str) -> None:
        path, name = self._at(sub)
        query = self._query("dryRun", "fieldValidation", "fieldManager", "force")
        await self._ask("PATCH", path, f"{name}{way}", body=body, content=content, query=query)

    async def _merge(self, sub: str) -> None:
        keep = self._rng.choice((0.3, 0.7, 1.0))
        body = self._mutator.part(await self._wanted(sub), keep)
        await self._patch(sub, "merge", body, MERGE)

    async def _strategic(self, sub: str) -> None:
        keep = self._rng.choice((0.3, 0.7, 1.0))
        body = self._mutator.part(await self._wanted(sub), keep)
        for _ in range(self._rng.choice((0, 0, 1, 2))):
            self._direct(body)
        await self._patch(sub, "strategic", body, STRATEGIC)

    def _direct(self, body: Any) -> None:
        """Put a directive somewhere."""
        places = [p[0][p[1]] for p in leaves_and_parts(body, self._schema)] + [body]
        maps = [place for place in places if isinstance(place, dict)]
        if not maps:
            return
        place = self._rng.choice(maps)
        names = list(place) or ["a"]
        match self._rng.randrange(4):
            case 0:
                place["$patch"] = self._rng.choice(("delete", "replace", "merge", "x", None, 1))
            case 1:
                place["$retainKeys"] = self._rng.choice((names, names[:1], [], None, [1], "x"))
            case 2:
                name = self._rng.choice(names)
                place[f"$setElementOrder/{name}"] = self._rng.choice(
                    (copy.deepcopy(place.get(name)), [], [{"name": "a"}], ["a"], None, [None], "x")
                )
            case _:
                name = self._rng.choice(names)
                place[f"$deleteFromPrimitiveList/{name}"] = self._rng.choice(
                    (place.get(name), ["a"], [], None, [1], {})
                )

    async def _json_patch(self, sub: str) -> None:
        value = await self._current()
        paths = _pointers(value) or [""]
        operations: list[Any] = []
        for _ in range(self._rng.randint(1, 4)):
            operation: dict[str, Any] = {
                "op": self._rng.choice(("add", "replace", "remove", "test", "move", "copy", "x")),
                "path": self._rng.choice(paths)
                + self._rng.choice(("", "", "", "/-", "/0", "/a", "/")),
            }
            if self._rng.random() < 0.8:
                operation["value"] = self._mutator.anything()
            if operation["op"] in {"move", "copy"}:
                operation["from"] = self._rng.choice(paths)
            operations.append(operation)
        body: Any = operations
        if self._rng.random() < 0.1:
            body = self._mutated(operations, 2, {"type": "array", "items": {"type": "object"}})
        await self._patch(sub, "json", body, PATCH)

    async def _apply(self, sub: str) -> None:
        value = await self._wanted(sub)
        body = self._mutator.part(value, self._rng.choice((0.4, 0.8, 1.0)))
        if isinstance(body, dict):
            body.setdefault("apiVersion", self._resource.api_version)
            body.setdefault("kind", self._resource.kind)
        path, name = self._at(sub)
        query = {"fieldManager": self._rng.choice(MANAGERS[:3]), "force": "true"}
        if self._rng.random() < 0.3:
            del query["force"]
        query |= self._query("dryRun", "fieldValidation", "fieldManager", "force")
        await self._ask("PATCH", path, f"{name}apply", body=body, content=APPLY, query=query)

    async def _own_body(self, sub: str) -> None:
        path, name = self._at(sub)
        schema = {"$ref": TYPES[sub]}
        body = copy.deepcopy(BODIES[sub])
        verbs = self._resource.subresources[sub].verbs
        body["metadata"] = {"name": self._base["metadata"]["name"]}
        body = self._mutated(body, self._rng.randint(0, 3), schema)
        method = "PUT" if "update" in verbs else "POST"
        await self._ask(
            method, path, f"{name}{method.lower()}", body=body, query=self._query("dryRun")
        )

    async def _read(self, sub: str) -> None:
        path, name = self._at(sub)
        accept = self._rng.choice(ACCEPTS)
        if sub or self._rng.random() < 0.3:
            await self._ask("GET", path, f"{name}get", accept=accept, query=self._query(*QUERIES))
            return
        query = self._query(*QUERIES)
        if query.get("timeout") != "x":
            query.pop("timeout", None)
        await self._ask("GET", self._collection, "list", accept=accept, query=query)

    async def _watch(self, sub: str) -> None:
        del sub
        names = (
            "resourceVersion",
            "resourceVersionMatch",
            "labelSelector",
            "fieldSelector",
            "allowWatchBookmarks",
            "sendInitialEvents",
            "limit",
            "continue",
            "includeObject",
        )
        query = {"watch": "true", **self._query(*names), "timeoutSeconds": "1"}
        if self._rng.random() < 0.2:
            query |= {
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
            }
        accept = self._rng.choice(ACCEPTS)
        await self._ask("GET", self._collection, "watch", accept=accept, query=query)

    async def _delete(self, sub: str) -> None:
        del sub
        query = self._query(
            "propagationPolicy", "gracePeriodSeconds", "orphanDependents", "dryRun", "pretty"
        )
        body: Any = None
        if self._rng.random() < 0.6:
            body = self._mutator.value(DELETE_OPTIONS)
            body |= {"apiVersion": "v1", "kind": "DeleteOptions"}
            body = self._mutated(body, self._rng.randint(0, 2), DELETE_OPTIONS)
        whole = "deletecollection" in self._resource.verbs and self._rng.random() < 0.2
        if whole:
            query |= self._query("limit", "labelSelector", "fieldSelector", "resourceVersion")
            query["dryRun"] = "All"
        path, way = (self._collection, "deletecollection") if whole else (self._path, "delete")
        await self._ask("DELETE", path, way, body=body, query=query)

    async def _decodes(self) -> None:
        """Read the stored object in other representations, and all there are."""
        accept = self._rng.choice(ACCEPTS[:6])
        await self._ask("GET", self._path, "decode", accept=accept)
        await self._ask("GET", self._collection, "decode list", accept=accept)


def _yaml(value: Any) -> bytes:
    return yaml.safe_dump(value).encode()


def _pointers(value: Any, path: str = "", depth: int = 0) -> list[str]:
    """JSON pointers of a value's parts."""
    out: list[str] = []
    if depth > 20:
        return out
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            out += [here, *_pointers(inner, here, depth + 1)]
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            out += [f"{path}/{index}", *_pointers(inner, f"{path}/{index}", depth + 1)]
    return out
