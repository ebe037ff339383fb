"""A server against a model of a few objects: whatever is asked, answers are those of the model.

python -m fuzz api --seconds 60 --seed 1

A round is a server in this process, and requests about a handful of ConfigMaps and Pods, in JSON
and protobuf, drawn from the seed.  A write with an old resourceVersion is refused and one with the
newest is made; each version is larger than all before; a read shows the newest state; a list in
pages shows the state of its first page, whatever is written between; a watch from any version tells
every event behind it once, in order; an object is stored with the documented defaults and with what
was sent; a user with one right gets nothing else; and at the end no seat is in use.
"""

from __future__ import annotations

import base64
import json
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

import trio

from fuzz.comparing import on_the_wire
from fuzz.interrupting import config_of, run
from fuzz.rounds import Round, Target
from fuzz.steps import Step
from kubetrio.config import Authorization
from kubetrio.env import seeded
from kubetrio.harness.exchange import Answer
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import ADMIN, Client
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]

STEPS = 60
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
NAMES = tuple(f"x{number}" for number in range(6))
ALICE = UserInfo("alice", groups=("system:authenticated",))
BOB = UserInfo("bob", groups=("system:authenticated",))
LINGER_S = 5.0
MERGE = "application/merge-patch+json"
DEFAULTS = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
"""Of a Pod's spec; docs "Pod v1 core"."""


@dataclass
class Model:
    """What is stored.

    Attributes:
        live: objects by name.
        events: version, kind of event and object, in order.
        newest: newest version that was seen.
    """

    live: dict[str, Object] = field(default_factory=dict)
    events: list[tuple[int, str, Object]] = field(default_factory=list)
    newest: int = 0


class Player:
    """Draws requests and judges answers.

    Args:
        server: that is asked.
        alice: a connection of who may do everything.
        bob: one of who may read one object.
        rng: draws.
        told: where what is found goes.
    """

    def __init__(
        self, server: InProcess, alice: Client, bob: Client, rng: Random, told: Round
    ) -> None:
        self._server, self._alice, self._bob, self._rng, self._told = server, alice, bob, rng, told
        self._model = Model()
        self._begun = 0
        self._count = 0

    async def _ask(self, method: str, path: str, body: Any = None, media: str = "") -> Answer:
        self._told.executions += 1
        headers = {"Content-Type": media} if media else {}
        return await self._alice.request(method, path, headers, json=body)

    def _made(self, name: str) -> Object:
        self._count += 1
        obj: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"n": str(self._count % 3)}},
            "data": {"count": str(self._count)},
        }
        if self._rng.random() < 0.5:
            obj["binaryData"] = {"b": base64.b64encode(self._rng.randbytes(9)).decode()}
        return obj

    def _stored(self, kind: str, answer: Answer) -> Object:
        obj: Object = answer.json()
        version = int(obj["metadata"]["resourceVersion"])
        self._told.require(version > self._model.newest, f"version {version} is not new")
        self._model.newest = max(version, self._model.newest)
        self._model.events.append((version, kind, obj))
        if kind == "DELETED":
            self._model.live.pop(obj["metadata"]["name"])
        else:
            self._model.live[obj["metadata"]["name"]] = obj
        return obj

    async def create(self, name: str) -> None:
        """Create an object, at times in protobuf; it is stored as it was sent."""
        sent = self._made(name)
        body = json.dumps(sent).encode()
        encode = "io.k8s.api.core.v1.ConfigMap" if self._rng.random() < 0.5 else ""
        step = on_the_wire(
            Step("POST", MAPS, {"Content-Type": "application/json"}, body, encode=encode)
        )
        self._told.executions += 1
        answer = await self._alice.request(step.method, step.target, step.headers, step.body)
        if name in self._model.live:
            self._told.require(answer.status == 409, f"created twice: {answer.status}")
            return
        self._told.require(answer.status == 201, f"not created: {answer.status}")
        if answer.status == 201:
            self._same(sent, self._stored("ADDED", answer))

    def _same(self, sent: Object, stored: Object) -> None:
        for name in ("data", "binaryData", "immutable"):
            if sent.get(name) != stored.get(name):
                self._told.problems.append(f"sent {sent.get(name)}, stored {stored.get(name)}")

    async def update(self, name: str) -> None:
        """Replace an object at the newest version, an old one, or none."""
        sent, live = self._made(name), self._model.live.get(name)
        events = [v for v, _, obj in self._model.events if obj["metadata"]["name"] == name and v]
        old = events[:-1]
        stale = live is not None and bool(old) and self._rng.random() < 0.4
        if stale:
            sent["metadata"]["resourceVersion"] = str(self._rng.choice(old))
        elif live is not None and self._rng.random() < 0.7:
            sent["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        answer = await self._ask("PUT", f"{MAPS}/{name}", sent)
        if live is None or stale:
            wanted = 404 if live is None else 409
            self._told.require(answer.status == wanted, f"update: {answer.status}, not {wanted}")
            return
        self._told.require(answer.status == 200, f"update: {answer.status} {answer.body[:200]!r}")
        if answer.status == 200:
            self._same(sent, self._stored("MODIFIED", answer))

    async def patch(self, name: str) -> None:
        """Patch an object."""
        self._count += 1
        patch = {"data": {"patched": str(self._count)}}
        answer = await self._ask("PATCH", f"{MAPS}/{name}", patch, MERGE)
        live = self._model.live.get(name)
        if live is None:
            self._told.require(answer.status == 404, f"patch: {answer.status}")
            return
        wanted = {**live["data"], **patch["data"]}
        obj = self._stored("MODIFIED", answer)
        self._told.require(obj["data"] == wanted, f"patched to {obj['data']}, not {wanted}")

    async def delete(self, name: str) -> None:
        """Delete an object."""
        answer = await self._ask("DELETE", f"{MAPS}/{name}")
        live = self._model.live.pop(name, None)
        wanted = 404 if live is None else 200
        self._told.require(answer.status == wanted, f"delete: {answer.status}, not {wanted}")
        if live is not None:
            self._model.events.append((0, "DELETED", live))  # its version is told by watches

    async def get(self, name: str) -> None:
        """Read an object, twice: it is the newest."""
        for _ in range(2):
            answer = await self._ask("GET", f"{MAPS}/{name}")
            live = self._model.live.get(name)
            found = answer.json() if answer.status == 200 else None
            self._told.require(found == live, f"read {found}, not {live}")

    async def pages(self, name: str) -> None:
        """List in pages, and write between them: the state is that of the first page."""
        wanted = [self._model.live[key] for key in sorted(self._model.live)]
        found: list[Object] = []
        token = ""
        for _ in range(len(NAMES)):
            path = f"{MAPS}?limit=2&fieldSelector=metadata.name!=kube-root-ca.crt&continue={token}"
            answer = await self._ask("GET", path)
            if answer.status != 200:
                self._told.problems.append(f"a page: {answer.status} {answer.body[:200]!r}")
                return
            page = answer.json()
            found += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                break
            await self._rng.choice((self.delete, self.update, self.create))(self._rng.choice(NAMES))
        listed = [(i["metadata"]["name"], i["metadata"]["resourceVersion"]) for i in found]
        expected = [(i["metadata"]["name"], i["metadata"]["resourceVersion"]) for i in wanted]
        self._told.require(listed == expected, f"pages show {listed}, not {expected}")
        del name

    async def pod(self, name: str) -> None:
        """Create a Pod: it has its defaults."""
        self._count += 1
        container = {"name": "c", "image": f"{name}:1"}
        obj = {"metadata": {"name": f"p{self._count}"}, "spec": {"containers": [container]}}
        answer = await self._ask("POST", PODS, obj)
        self._told.require(answer.status == 201, f"pod: {answer.status} {answer.body[:200]!r}")
        if answer.status != 201:
            return
        made = answer.json()
        self._model.newest = max(self._model.newest, int(made["metadata"]["resourceVersion"]))
        spec = made["spec"]
        lacking = {key: spec.get(key) for key, value in DEFAULTS.items() if spec.get(key) != value}
        self._told.require(not lacking, f"defaults: {lacking}")
        policy = spec["containers"][0].get("imagePullPolicy")
        self._told.require(policy == "IfNotPresent", f"imagePullPolicy {policy}")

    async def rights(self, name: str) -> None:
        """Ask as one who may read the first object only."""
        asked = self._rng.choice(
            (
                ("GET", f"{MAPS}/{name}", None),
                ("GET", MAPS, None),
                ("PUT", f"{MAPS}/{NAMES[0]}", self._made(NAMES[0])),
                ("DELETE", f"{MAPS}/{NAMES[0]}", None),
                ("GET", "/api/v1/namespaces/default/secrets", None),
                ("GET", f"/api/v1/namespaces/kube-system/configmaps/{NAMES[0]}", None),
                ("POST", MAPS, self._made(name)),
            )
        )
        self._told.executions += 1
        answer = await self._bob.request(asked[0], asked[1], json=asked[2])
        may = asked[0] == "GET" and asked[1] == f"{MAPS}/{NAMES[0]}"
        wanted = (200, 404) if may else (403,)
        self._told.require(answer.status in wanted, f"bob: {asked[:2]} gets {answer.status}")

    async def watch(self, name: str) -> None:
        """Watch from a version on: each event once, in order."""
        del name
        known = [version for version, _, _ in self._model.events if version] or [self._begun]
        since = self._rng.choice([self._begun, *known[-20:]])
        server = self._server.client()
        kind = server.kind("v1", "ConfigMap")
        seen: list[tuple[str, str, str]] = []
        self._told.executions += 1
        async with server.watch(
            kind, "default", resource_version=str(since), timeout_s=1
        ) as events:
            async for event in events:
                if (meta := event.object["metadata"])["name"] in NAMES:
                    shown = "" if event.type == "DELETED" else meta["resourceVersion"]
                    seen.append((event.type, meta["name"], shown))
        behind = 0
        for place, (version, _, _) in enumerate(self._model.events):
            if version and version <= since:
                behind = place + 1
        # A deletion right behind the version is not told apart by its number: it may be seen.
        wanted = [
            (what, obj["metadata"]["name"], str(version or ""))
            for version, what, obj in self._model.events[behind:]
        ]
        self._told.require(seen == wanted, f"a watch from {since} tells {seen}, not {wanted}")

    async def play(self) -> None:
        """Make the requests of a round."""
        listed = (await self._ask("GET", MAPS)).json()
        self._begun = self._model.newest = int(listed["metadata"]["resourceVersion"])
        ways = [self.create, self.update, self.update, self.patch, self.delete, self.get,
                self.get, self.pages, self.pod, self.rights, self.watch]  # fmt: skip
        for _ in range(STEPS):
            await self._rng.choice(ways)(self._rng.choice(NAMES))
        await self.watch("")
        await trio.sleep(LINGER_S)
        for level in self._server.api.edge.flow.gate.snapshot().statistics.levels:  # type: ignore[attr-defined]
            used = level.queues.seats_in_use
            self._told.require(not used, f"level {level.name}: {used} seats in use")


async def prepare(client: Client) -> None:
    """Give Alice all rights, and Bob one."""
    role = {"metadata": {"name": "one"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"],
         "resourceNames": [NAMES[0]]},
    ]}  # fmt: skip
    ref = {"apiGroup": GROUP, "kind": "Role", "name": "one"}
    subject = {"apiGroup": GROUP, "kind": "User", "name": "bob"}
    bound = {"metadata": {"name": "one"}, "roleRef": ref, "subjects": [subject]}
    every = {
        "metadata": {"name": "alice"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{**subject, "name": "alice"}],
    }
    for path, obj in (
        (f"{RBAC}/namespaces/default/roles", role),
        (f"{RBAC}/namespaces/default/rolebindings", bound),
        (f"{RBAC}/clusterrolebindings", every),
    ):
        answer = await client.request("POST", path, json=obj)
        if answer.status != 201:
            raise AssertionError(answer.body)


async def play(seed: int, told: Round) -> None:
    """Play a round."""
    with tempfile.TemporaryDirectory(prefix="kubetrio-model-") as folder:
        config = replace(config_of(Path(folder)), authorization=Authorization(modes=("RBAC",)))
        async with open_api(env=seeded(seed), config=config, kept=True) as server:
            async with server.connect(certificate=ADMIN) as admin:
                await prepare(admin)
            async with (
                server.connect(certificate=ALICE) as alice,
                server.connect(certificate=BOB) as bob,
            ):
                try:
                    await Player(server, alice, bob, seeded(seed).rng, told).play()
                except (KeyError, ValueError, TypeError) as error:
                    told.problems.append(f"an answer that cannot be read: {error!r}")


def round_of(seed: int) -> Round:
    """The round of a seed."""
    told = Round()
    run(lambda: play(seed, told), seed)
    return told


TARGET = Target(
    "api",
    "Whatever is asked of a few objects, answers, lists in pages, watches, defaults and rights are "
    "those of a model.",
    round_of,
)
