"""No user gains a right: a request does and shows no more than the rights that it was asked for.

python fuzz/one_right.py --seconds 60 --seed 1

Every path that discovery names is asked for with every method, by a user without any right and
then by one who has the right that the documentation names for the request, and no other.  What
the first one gets is a refusal that names that right; what the second one writes, and whose
objects are shown to it, is that right's.  Every stored object carries a mark, by which it is known
again wherever it shows up.  With --seconds the requests are changed at random beside: paths,
queries, headers and bodies; a seed repeats its round.

The rules are those of the documentation and not of the server: docs "Authorization Overview"
(request verbs), and ``docs/reference/rights.md`` for what a request needs beside its verb.
"""

from __future__ import annotations

import argparse
import json
import random  # noqa: TID251  (the type of Env.rng, which is what draws)
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

import trio
import trio.testing

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.corpus import corpus
from kubetrio.auth.authorize import ALLOWED
from kubetrio.env import monotonic, seeded
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.server.parts import Parts
from kubetrio.store.model import Event, EventType
from kubetrio.testing.client import Answer, BadAnswer, Client
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
T = TypeVar("T")
USER = UserInfo("somebody", groups=("system:authenticated",))
HERE, THERE = "here", "there"
MARK = re.compile(rb"mark-\d+-")
JSON = {"Content-Type": "application/json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
ANSWERS_S = 10_800.0  # of a clock that does not wait: a watch without a time limit ends by then
HTTP_ERROR = 400
ROUND = 500  # strange requests to one server

# ---------------------------------------------------------------------- what the documentation says

VERB_OF = {
    ("POST", True): "create",
    ("POST", False): "create",
    ("GET", True): "list",
    ("GET", False): "get",
    ("HEAD", True): "list",
    ("HEAD", False): "get",
    ("PUT", True): "update",
    ("PUT", False): "update",
    ("PATCH", True): "patch",
    ("PATCH", False): "patch",
    ("DELETE", True): "deletecollection",
    ("DELETE", False): "delete",
}
"""Docs "Authorization Overview", request verbs: by method, and whether it is about a collection."""
WRITES_ALSO: dict[tuple[str, str], frozenset[str]] = {
    ("/pods/eviction", "create"): frozenset({"/pods", "policy/poddisruptionbudgets"}),
    ("/pods/binding", "create"): frozenset({"/pods"}),
    ("/bindings", "create"): frozenset({"/pods"}),
    ("/services", "create"): frozenset({"networking.k8s.io/ipaddresses"}),
    ("/services", "update"): frozenset({"networking.k8s.io/ipaddresses"}),
    ("/services", "patch"): frozenset({"networking.k8s.io/ipaddresses"}),
    ("/services", "delete"): frozenset({"networking.k8s.io/ipaddresses", "/endpoints"}),
    ("/services", "deletecollection"): frozenset({"networking.k8s.io/ipaddresses", "/endpoints"}),
}
"""What a request writes beside the objects of its resource, by resource and verb."""
VERBS_OF = {
    EventType.CREATED: frozenset({"create"}),
    EventType.UPDATED: frozenset({"update", "patch", "delete", "deletecollection", "create"}),
    EventType.DELETED: frozenset({"delete", "deletecollection", "create"}),
}
"""Verbs that lead to a write: an eviction is created and deletes, a binding changes."""
PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "status": (("status",), ("metadata",)),
    "scale": (("spec", "replicas"), ("metadata",)),
    "approval": (("status", "conditions"), ("metadata",)),
    "finalize": (("spec", "finalizers"), ("metadata",)),
    "ephemeralcontainers": (("spec", "ephemeralContainers"), ("metadata",)),
    "resize": (
        ("spec", "containers"),
        ("spec", "initContainers"),
        ("spec", "resources"),
        ("status",),
        ("metadata",),
    ),
    "binding": (("spec", "nodeName"), ("status",), ("metadata",)),
    "eviction": (("status",), ("metadata",)),
}
"""Which parts of an object are written through a subresource."""
ALSO_ASKED: dict[tuple[str, str], frozenset[tuple[str, str]]] = {
    ("", "update"): frozenset({("create", "")}),
    ("", "patch"): frozenset({("create", "")}),
    ("exec", "get"): frozenset({("create", "exec")}),
    ("attach", "get"): frozenset({("create", "attach")}),
    ("portforward", "get"): frozenset({("create", "portforward")}),
    ("approval", "update"): frozenset({("approve", "")}),
    ("approval", "patch"): frozenset({("approve", "")}),
}
"""Verbs and subresources that a request may be asked for beside, by subresource and verb; what else
is asked is about another resource, and in `OTHERS`."""
OTHERS: dict[str, frozenset[str]] = {
    "/services": frozenset({"create /services/status"}),
    "certificates.k8s.io/certificatesigningrequests": frozenset(
        {"approve certificates.k8s.io/signers", "sign certificates.k8s.io/signers"}
    ),
    "rbac.authorization.k8s.io/roles": frozenset({"escalate rbac.authorization.k8s.io/roles"}),
    "rbac.authorization.k8s.io/clusterroles": frozenset(
        {"escalate rbac.authorization.k8s.io/clusterroles"}
    ),
    "rbac.authorization.k8s.io/rolebindings": frozenset(
        {f"bind rbac.authorization.k8s.io/{kind}" for kind in ("roles", "clusterroles")}
    ),
    "rbac.authorization.k8s.io/clusterrolebindings": frozenset(
        {"bind rbac.authorization.k8s.io/clusterroles"}
    ),
    "resource.k8s.io/resourceclaims": frozenset(
        f"{prefix}{verb} resource.k8s.io/resourceclaims/{below}"
        for verb in ("update", "patch")
        for prefix, below in (
            ("", "binding"), ("associated-node:", "driver"), ("arbitrary-node:", "driver"),
        )
    ),
}  # fmt: skip
"""Further rights that are asked for while objects of a resource are written."""
REVIEWS = frozenset({"authorization.k8s.io"})
"""Groups whose objects are questions to the authorizers."""
PARAMETERS = frozenset({"admissionregistration.k8s.io"})
"""Groups whose objects read others: their authors are asked whether they may."""


MOST_RIGHTS = 4  # that one request can need
EVENTS = frozenset({"/events", "events.k8s.io/events"})


def same_as(kind: str) -> frozenset[str]:
    """Resources whose objects are the same: an Event is in two groups."""
    return EVENTS if kind in EVENTS else frozenset({kind})


class Right(NamedTuple):
    """One right, as a rule of a role would give it.

    Args:
        verb: verb.
        group: API group.
        resource: plural name.
        subresource: of it, or empty.
        namespace: where; empty for everywhere.
        name: of which object; empty for all.
    """

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def covers(self, asked: Attributes) -> bool:
        """Whether a question is answered with yes."""
        if not asked.resource_request:
            return False
        exact = (asked.verb, asked.api_group, asked.resource, asked.subresource)
        return (
            exact == self[:4]
            and self.namespace in ("", asked.namespace)
            and self.name in ("", asked.name)
        )


class Served(NamedTuple):
    """One entry of discovery.

    Args:
        group: API group.
        version: its version.
        resource: plural name.
        subresource: of it, or empty.
        namespaced: whether objects are in namespaces.
        verbs: that it takes.
    """

    group: str
    version: str
    resource: str
    subresource: str
    namespaced: bool
    verbs: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Group and plural name."""
        return f"{self.group}/{self.resource}"

    @property
    def root(self) -> str:
        """Where its version is served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


PODS = Served("", "v1", "pods", "", True, ())


class Asking(NamedTuple):
    """A request and the right that it needs.

    Args:
        method: HTTP method.
        target: path and query.
        headers: names and values.
        body: what is sent, or nothing.
        needs: the right; None for what is no resource.
        served: what the path is about.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    needs: Right
    served: Served

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


class Gate:
    """An authorizer that has few rights to give, and notes what it is asked."""

    def __init__(self) -> None:
        self.given: frozenset[Right] = frozenset()
        self.asked: list[Attributes] = []

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what the rights cover, deny all else; no other authorizer is asked."""
        self.asked.append(attributes)
        if any(right.covers(attributes) for right in self.given):
            return ALLOWED
        return Verdict(Decision.DENY, "")


# ---------------------------------------------------------------------- the world


@dataclass(kw_only=True)
class World:
    """A server with marked objects.

    Args:
        server: the server.
        gate: its only authorizer.
        served: what discovery names.
        objects: a stored object by resource and namespace.
        bases: what one of a resource was made of.
        marks: whose mark it is: group and resource, namespace and name.
        events: what was written since the last look.
    """

    server: InProcess
    gate: Gate
    served: list[Served] = field(default_factory=list)
    objects: dict[tuple[Served, str], Object] = field(default_factory=dict)
    bases: dict[Served, Object] = field(default_factory=dict)
    marks: dict[bytes, tuple[str, str, str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def note(self, event: Event) -> None:
        """Keep what happened to an object."""
        if event.key.startswith("/registry/"):
            self.events.append(event)

    def name_of(self, served: Served, namespace: str) -> str:
        """The name of an object that is there, else one of none."""
        found = self.object_of(served, namespace)
        return str(found["metadata"]["name"]) if found else "nobody"

    def object_of(self, served: Served, namespace: str) -> Object:
        """The object that is there; an empty one where there is none."""
        whole = served._replace(subresource="", verbs=())
        return self.objects.get((whole, namespace if served.namespaced else ""), {})


@asynccontextmanager
async def opened(seed: int) -> AsyncIterator[World]:
    """A server with an object of each kind in two namespaces."""
    gate = Gate()
    async with open_api(seed=seed, parts=Parts(authorizers=[gate])) as server:
        world = World(server=server, gate=gate)
        async with server.connect() as admin:
            await _discover(world, admin)
            for namespace in (HERE, THERE):
                body = {"metadata": {"name": namespace}}
                await admin.request("POST", "/api/v1/namespaces", json=body)
            await _fill(world, admin)
        server.api.storage.informers.dispatcher.subscribe("/", world.note)
        yield world


async def _discover(world: World, admin: Client) -> None:
    """Note what discovery names."""
    roots = ["/api/v1"]
    groups = (await admin.request("GET", "/apis")).json()["groups"]
    roots += [f"/apis/{each['groupVersion']}" for group in groups for each in group["versions"]]
    for root in roots:
        group, _, version = root.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
        for entry in (await admin.request("GET", root)).json()["resources"]:
            resource, _, below = entry["name"].partition("/")
            verbs = tuple(entry["verbs"])
            world.served.append(Served(group, version, resource, below, entry["namespaced"], verbs))


async def _fill(world: World, admin: Client) -> None:
    """Make the objects, each with a mark; and mark what is there already."""
    bases: dict[str, list[Object]] = {}
    for kind, objects in corpus().bases.items():
        bases.setdefault(f"{kind.group}/{kind.version}/{kind.resource}", []).extend(objects)
    for served in world.served:
        if served.subresource or "create" not in served.verbs or "get" not in served.verbs:
            continue
        for namespace in (HERE, THERE) if served.namespaced else ("",):
            for base in bases.get(f"{served.kind.replace('/', f'/{served.version}/', 1)}", ()):
                if await _made(world, admin, served, namespace, base):
                    break


async def _made(world: World, admin: Client, served: Served, namespace: str, base: Object) -> bool:
    """Make one object; whether it is there."""
    number = len(world.marks)
    mark = f"mark-{number}-"
    meta = {
        "name": base["metadata"].get("name") or f"object-{number}",
        "annotations": {**(base["metadata"].get("annotations") or {}), "mark": mark},
        "labels": base["metadata"].get("labels") or {},
    }
    path = served.root + (f"/namespaces/{namespace}" if namespace else "")
    body = json.loads(json.dumps({**base, "metadata": meta}))
    if served.kind == "/pods":  # no node is asked about it
        body["spec"].pop("nodeName", None)
    if served.resource == "events":  # the older kind says where its object is
        for member in ("involvedObject", "regarding"):
            if member in body:
                body[member]["namespace"] = namespace
    answer = await admin.request("POST", f"{path}/{served.resource}", json=body)
    if answer.status != 201:
        return False
    name = answer.json()["metadata"]["name"]
    whole = served._replace(verbs=())
    world.objects.setdefault((whole, namespace), answer.json())
    world.bases.setdefault(whole, body)
    world.marks[mark.encode()] = (served.kind, namespace, name)
    return True


# ---------------------------------------------------------------------- requests


def requests_about(world: World, served: Served) -> Iterator[Asking]:
    """Every method on every path of an entry of discovery, with the right that each needs."""
    for namespace in (HERE,) if served.namespaced else ("",):
        inside = f"/namespaces/{namespace}" if namespace else ""
        name = world.name_of(served, namespace)
        paths = [
            (f"{served.root}{inside}/{served.resource}/{each}", namespace, each)
            for each in dict.fromkeys((name, "nobody"))
        ]
        if served.subresource:
            if served.subresource == "proxy":
                paths = [(f"{served.root}{inside}/{served.resource}/nobody", namespace, "nobody")]
            paths = [(f"{path}/{served.subresource}", where, each) for path, where, each in paths]
        else:
            paths.append((f"{served.root}{inside}/{served.resource}", namespace, ""))
            if namespace:
                paths.append((f"{served.root}/{served.resource}", "", ""))
        for path, where, named in paths:
            yield from _methods(world, served, path, where, named)


def _methods(
    world: World, served: Served, path: str, namespace: str, name: str
) -> Iterator[Asking]:
    def asking(
        method: str, query: str = "", headers: dict[str, str] | None = None, verb: str = "",
    ) -> Asking:  # fmt: skip
        needs = Right(
            verb or VERB_OF[method, not name],
            served.group,
            served.resource,
            served.subresource,
            namespace,
            name,
        )
        if served.resource == "namespaces" and name:
            needs = needs._replace(namespace=name)
        body = None
        if method in ("POST", "PUT", "PATCH"):
            body = json.dumps(_body(world, served, method, namespace, name)).encode()
        return Asking(method, path + query, headers or JSON, body, needs, served)

    for method in ("POST", "PUT", "DELETE"):
        yield asking(method, "?dryRun=All")
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        yield asking(method)
    yield asking("PATCH", headers=MERGE)
    yield asking("PATCH", "?fieldManager=somebody&force=true", APPLY)
    if not served.subresource:
        if not name:
            yield asking("GET", "?watch=true&timeoutSeconds=1", verb="watch")
        legacy = path.replace(served.root, f"{served.root}/watch", 1)
        one = asking("GET", "?timeoutSeconds=1", verb="watch")
        yield one._replace(target=f"{legacy}?timeoutSeconds=1")


def _body(world: World, served: Served, method: str, namespace: str, name: str) -> Object:
    """An object to write: of a subresource with everything else changed beside."""
    stored = world.object_of(served, namespace or HERE)
    if not name:
        stored = world.bases.get(served._replace(subresource="", verbs=()), stored)
    meta = stored.get("metadata", {})
    match served.subresource:
        case "scale":
            return {
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": name}, "spec": {"replicas": 7},
            }  # fmt: skip
        case "eviction":
            return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        case "binding":
            return {"metadata": {"name": name}, "target": {"name": "some-node"}}
        case "token":
            return {"spec": {}}
    if served.resource == "bindings":
        return {"metadata": {"name": world.name_of(PODS, HERE)}, "target": {"name": "some-node"}}
    found = {
        **{key: value for key, value in stored.items() if key != "metadata"},
        "metadata": {
            "name": name or "another",
            "labels": {**meta.get("labels", {}), "changed": "yes"},
            "annotations": {
                key: value
                for key, value in meta.get("annotations", {}).items()
                if key != "mark" or name == meta.get("name")
            },
        },
    }
    if not stored:
        gv = f"{served.group}/{served.version}" if served.group else served.version
        found["apiVersion"] = gv
    if served.subresource:
        spec = dict(found.get("spec") or {})
        for key, value in spec.items():  # numbers can be changed and still make sense
            if type(value) is int:
                spec[key] = value + 1
        found["spec"] = spec
    elif name and method == "PUT" and meta.get("resourceVersion"):
        found["metadata"]["resourceVersion"] = meta["resourceVersion"]
    return found


# ---------------------------------------------------------------------- judging


class Broken(AssertionError):
    """A right was gained; the text says how."""


async def refused(world: World, client: Client, asking: Asking) -> None:
    """Ask without any right: a refusal that names the right, and nothing else happens.

    Raises:
        Broken: something else happens.
    """
    answer = await send(world, client, asking, frozenset())
    if answer.status != 403:
        raise Broken(f"{asking}: {answer.status} without any right")
    asked = [right_of(each) for each in world.gate.asked]
    if asked != [asking.needs]:
        raise Broken(f"{asking}: needs {asking.needs}, asked for {asked}")
    if world.events:
        raise Broken(f"{asking}: refused, and wrote {world.events[0].key}")
    if MARK.search(answer.body):
        raise Broken(f"{asking}: refused, and showed an object")


async def allowed(world: World, client: Client, asking: Asking) -> Answer:
    """Ask with the right that the request needs: not refused for it, and nothing beyond it.

    Where it needs a further right that the documentation knows of, ask with that one too.

    Raises:
        Broken: it is refused all the same, or does more.
    """
    needs = asking.needs
    given = frozenset({needs})
    for _ in range(MOST_RIGHTS):
        answer = await send(world, client, asking, given)
        asked = [right_of(each) for each in world.gate.asked]
        if asked[:1] != [needs]:
            raise Broken(f"{asking}: another right was asked for")
        for each in world.gate.asked[1:]:
            _check_also(asking, each)
        check_written(world, given, asking)
        check_shown(world, needs, answer, str(asking))
        lacks = set(asked) - given
        if not lacks or answer.status not in (403, 422) or asking.served.group in REVIEWS:
            break
        if world.events:
            raise Broken(f"{asking}: lacks {lacks}, and wrote {world.events[0].key}")
        given |= lacks
    else:
        raise Broken(f"{asking}: needs more than {sorted(given)}")
    if answer.status == 403 and b" cannot " in answer.body:
        raise Broken(f"{asking}: refused with {sorted(given)}: {answer.body[:300]!r}")
    return answer


def right_of(asked: Attributes) -> Right:
    """A question as the right that answers it."""
    return Right(
        asked.verb,
        asked.api_group,
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
    )


async def send(world: World, client: Client, asking: Asking, given: frozenset[Right]) -> Answer:
    """Send a request as a user who has these rights."""
    world.gate.given = given
    world.gate.asked.clear()
    world.events.clear()
    with trio.fail_after(ANSWERS_S):
        return await client.request(asking.method, asking.target, asking.headers, asking.body)


def _check_also(asking: Asking, asked: Attributes) -> None:
    """Look whether the documentation knows of a further question.

    Raises:
        Broken: it does not.
    """
    needs, served = asking.needs, asking.served
    same = (asked.api_group, asked.resource) == (needs.group, needs.resource)
    also = ALSO_ASKED.get((needs.subresource, needs.verb), frozenset())
    if same and (asked.verb, asked.subresource) in also:
        return
    below = f"/{asked.subresource}" if asked.subresource else ""
    words = f"{asked.verb} {asked.api_group}/{asked.resource}{below}"
    if words in OTHERS.get(served.kind, ()) or served.group in REVIEWS:
        return
    if served.group in PARAMETERS and asked.verb in ("get", "list"):
        return
    raise Broken(f"{asking}: asked for {right_of(asked)} beside")


def check_written(world: World, given: frozenset[Right], asking: Asking) -> None:
    """Look at what was written: objects of the right's, and of a subresource its parts.

    Raises:
        Broken: something else was written.
    """
    needs, served = asking.needs, asking.served
    own = same_as(served.kind)
    may: frozenset[str] = frozenset()
    dry = "dryRun" in parse_qs(asking.target.partition("?")[2])
    if needs.verb not in ("get", "list", "watch") and not dry:
        path = f"{served.kind}/{needs.subresource}" if needs.subresource else served.kind
        may = WRITES_ALSO.get((path, needs.verb), frozenset()) | own
    for event in world.events:
        obj = json.loads(event.value)
        kind, meta = written_kind(world, obj), obj["metadata"]
        wrote = f"{asking}: {event.type.name.lower()} {event.key}"
        elsewhere = needs.namespace and home_of(kind, meta) not in (needs.namespace, None)
        if kind not in may or elsewhere:
            raise Broken(wrote)
        if kind in own:
            if needs.name not in ("", meta["name"]):
                raise Broken(wrote)
            verbs = VERBS_OF[event.type]
            if not any(right.verb in verbs for right in given):
                raise Broken(f"{wrote} with {sorted(given)}")
        parts = PARTS.get(needs.subresource)
        if parts is not None and kind in own and event.previous is not None:
            changed = _changed_parts(json.loads(event.previous), obj, parts)
            if changed:
                raise Broken(f"{wrote}: changed {changed}")


def home_of(kind: str, meta: Object) -> str | None:
    """The namespace in which rights to an object count; None for those of the whole cluster."""
    home: str | None = meta["name"] if kind == "/namespaces" else meta.get("namespace")
    return home


def written_kind(world: World, obj: Object) -> str:
    """Group and plural name of a stored object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    for kind in world.server.api.storage.registry.resources.values():
        if (kind.group, kind.version, kind.kind) == (group, version, obj["kind"]):
            return f"{kind.group}/{kind.resource}"
    return str(obj["kind"])


def _changed_parts(old: Object, new: Object, parts: Iterable[tuple[str, ...]]) -> list[str]:
    """What changed outside the parts."""
    rest_of_old, rest_of_new = json.loads(json.dumps(old)), json.loads(json.dumps(new))
    for part in parts:
        for whole in (rest_of_old, rest_of_new):
            *outer, last = part
            for name in outer:
                whole = whole.get(name) or {}
            whole.pop(last, None)
    changed = [
        f"metadata.{name}"
        for name in ("uid", "name", "namespace", "creationTimestamp")
        if old["metadata"].get(name) != new["metadata"].get(name)
    ]
    return changed + sorted(
        key
        for key in rest_of_old.keys() | rest_of_new.keys()
        if rest_of_old.get(key) != rest_of_new.get(key)
    )


def check_shown(world: World, needs: Right, answer: Answer, words: str) -> None:
    """Look at whose objects an answer shows: those that the right is about.

    Raises:
        Broken: others are among them.
    """
    own = same_as(f"{needs.group}/{needs.resource}")
    for mark in set(MARK.findall(answer.body)):
        kind, namespace, name = world.marks[mark]
        home = name if kind == "/namespaces" else namespace
        mine = needs.name in ("", name) and needs.namespace in ("", home)
        if kind not in own or not mine:
            raise Broken(f"{words}: showed {kind} {namespace}/{name} for {needs}")


async def sweep(world: World, client: Client, asking: Asking) -> int:
    """Ask without a right and with it, and put back what was changed; the status of the second."""
    await refused(world, client, asking)
    snapshot = await world.server.resets.snapshot()
    try:
        answer = await allowed(world, client, asking)
        if world.events:
            await world.server.resets.reset(snapshot)
    finally:
        snapshot.close()
    return answer.status


# ---------------------------------------------------------------------- requests at random

HEADERS: tuple[dict[str, str], ...] = (
    {"Impersonate-User": "kubernetes-admin", "Impersonate-Group": "system:masters"},
    {"X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters"},
    {"X-HTTP-Method-Override": "DELETE"},
    {"X-Forwarded-User": "admin", "X-Original-URL": "/api/v1/secrets"},
    {"Authorization": "Bearer system:masters"},
    {"Authorization": "Basic YWRtaW46YWRtaW4="},
    {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
    {"Accept": "application/vnd.kubernetes.protobuf"},
    {"Accept": "application/yaml"},
)
QUERIES = (
    "watch=true&timeoutSeconds=1", "watch=1&watch=0&timeoutSeconds=1", "includeObject=Object",
    "fieldSelector=metadata.name%3Dnobody", "fieldSelector=metadata.namespace%3Dthere",
    "labelSelector=changed", "resourceVersion=0", "limit=1", "namespace=there", "name=nobody",
    "dryRun=All", "fieldManager=x&force=true", "propagationPolicy=Foreground", "x=/../secrets",
)  # fmt: skip
PUT_BETWEEN = ("/", "/./", "/../", "/%2e%2e/", "/;/")
PUT_BEHIND = ("/", "/status", "/scale", "/x", "/log", "%2Fstatus", "?", "#x")
MEMBERS = ("here", "namespace", "name", "status", "spec")
OTHERS_FOR_MEMBERS = ("there", "metadata", "status", "Name")


def strange(rng: random.Random, asking: Asking) -> Asking:
    """A request that was changed at random."""
    path, _, query = asking.target.partition("?")
    headers, body = dict(asking.headers), asking.body
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(path))
        match rng.randrange(8):
            case 0:
                at = rng.choice([place.start() for place in re.finditer("/", path)])
                path = path[:at] + rng.choice(PUT_BETWEEN) + path[at:]
            case 1:
                path = f"{path[:at]}%{ord(path[at]):02X}{path[at + 1 :]}"
            case 2:
                path = path[:at] + path[at].swapcase() + path[at + 1 :]
            case 3:
                path = path.replace(HERE, rng.choice((THERE, "*", "", "here%00", "default")), 1)
            case 4:
                path += rng.choice(PUT_BEHIND)
            case 5:
                query = "&".join(filter(None, (query, rng.choice(QUERIES))))
            case 6:
                headers.update(rng.choice(HEADERS))
            case _ if body:
                member, other = rng.choice(MEMBERS), rng.choice(OTHERS_FOR_MEMBERS)
                body = body.replace(f'"{member}"'.encode(), f'"{other}"'.encode(), 1)
    method = rng.choice((asking.method, asking.method, "GET", "POST", "PUT", "PATCH", "DELETE"))
    target = f"{path}?{query}" if query else path
    return asking._replace(method=method, target=target, headers=headers, body=body)


async def judge(world: World, client: Client, asking: Asking) -> int:
    """Ask for something strange, without a right and with one; the status of the second.

    Raises:
        Broken: something is written or shown that the right is not about.
    """
    answer = await send(world, client, asking, frozenset())
    if MARK.search(answer.body) or world.events:
        raise Broken(f"{asking} {asking.headers}: {answer.status} without any right")
    snapshot = await world.server.resets.snapshot()
    try:
        answer = await send(world, client, asking, frozenset({asking.needs}))
        check_shown(world, asking.needs, answer, f"{asking} {asking.headers}")
        check_written(world, frozenset({asking.needs}), asking)
        if world.events:
            await world.server.resets.reset(snapshot)
    finally:
        snapshot.close()
    return answer.status


async def play(seed: int, requests: int) -> int:
    """One round of strange requests; returns how many did what they asked for.

    Raises:
        Broken: a user gained a right.
    """
    rng, done = seeded(seed).rng, 0
    async with opened(seed) as world:
        known = [asking for served in world.served for asking in requests_about(world, served)]
        for _ in range(requests):
            asking = strange(rng, rng.choice(known))
            async with world.server.connect(certificate=USER) as client:
                try:
                    done += await judge(world, client, asking) < HTTP_ERROR
                except (BadAnswer, OSError):
                    continue  # no request at all, and the connection is done for
    return done


async def everything(seed: int) -> dict[int, int]:
    """Ask for everything that discovery names; how often each status came.

    Raises:
        Broken: a user gained a right.
    """
    seen: Counter[int] = Counter()
    async with opened(seed) as world, world.server.connect(certificate=USER) as client:
        for served in world.served:
            for asking in requests_about(world, served):
                seen[await sweep(world, client, asking)] += 1
    return dict(seen)


def run(main: Callable[..., Awaitable[T]], *arguments: int) -> T:
    """Run one of them on a clock that does not wait."""
    return trio.run(main, *arguments, clock=trio.testing.MockClock(autojump_threshold=0))


def main(arguments: Iterable[str] | None = None) -> None:
    """Run it for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    print(f"everything that discovery names, by status: {run(everything, chosen.seed)}")
    end, seed, done = monotonic() + chosen.seconds, chosen.seed, 0
    while monotonic() < end:
        try:
            done += run(play, seed, ROUND)
        except Broken as broken:
            sys.exit(f"--seed {seed}: {broken}")
        seed += 1
    print(f"{(seed - chosen.seed) * ROUND} strange requests, {done} of them answered")


if __name__ == "__main__":
    main()
