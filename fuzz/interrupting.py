"""Requests that are interrupted, and what the server has to be like behind that.

Whatever interrupts a request, the server is as if it had been made or had not: reads, lists and the
watch agree, no seat is in use, no request counts as under way, no task was left, and the next write
of the same object is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple
from urllib.parse import urlencode

import orjson
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.api.request import Request, by_name
from kubetrio.client.calling import Caller
from kubetrio.config import Authorization, Config, FlowControl
from kubetrio.env import seeded
from kubetrio.harness.scheduler import seed_scheduler
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess, in_memory, open_api

Object = dict[str, Any]
Args = TypeVarTuple("Args")
T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, object]]
Interrupt = Callable[[int, Call], Awaitable[bool]]

MOST = 2000  # await points of one call
ALICE = UserInfo("alice", groups=("system:authenticated",))  # whose requests have seats
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
WATCHED = {
    MAPS: ("v1", "ConfigMap"),
    PODS: ("v1", "Pod"),
    ACCOUNTS: ("v1", "ServiceAccount"),
    DEPLOYMENTS: ("apps/v1", "Deployment"),
}
CONTAINERS = [{"name": "c", "image": "i"}]
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
CROWD = 5  # requests beside the one that is cancelled
SEATS = 4  # of all levels together
READ_S = 0.001  # until a body is there
BLOCKING_S = 0.002  # for a call that a thread would make
BETWEEN_S = 1.0  # a watch that ended and the next one
ENDS_S = 100_000.0  # of a clock that does not wait
LINGER_S = 5.0  # longer than a write's final seats stay


@dataclass
class Outcome:
    """What was tried, and what was wrong.

    Attributes:
        points: how many a call was interrupted at, by call.
        kept: calls that were carried out although they were interrupted.
        problems: what was wrong.
    """

    points: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All of it, a line each."""
        lines = [
            f"{count:6d} points, {self.kept[what]:4d} carried out all the same: {what}"
            for what, count in self.points.items()
        ]
        total = f"{sum(self.points.values())} points, {len(self.problems)} problems"
        return "\n".join([*lines, total, *self.problems])


def tasks() -> Counter[str]:
    """Names of all tasks of this run."""
    root = trio.lowlevel.current_root_task()
    found: Counter[str] = Counter()
    waiting = [root] if root else []
    while waiting:
        task = waiting.pop()
        found[task.name] += 1
        waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return found


@dataclass(frozen=True, kw_only=True)
class Op:
    """A request that is cancelled.

    Args:
        method: of HTTP.
        path: of what is asked.
        body: a value, None for none.
        media: type of the body.
        at: path of the object that it changes.
        first: object that is there before; None for none.
        done: whether an object, or none, shows that it was carried out.
        query: parameters.
    """

    method: str
    path: str
    at: str
    body: Any = None
    media: str = "application/json"
    first: Object | None = None
    done: Callable[[Object | None], bool] = lambda _: False
    query: dict[str, str] = field(default_factory=dict)


def made(name: str, kind: str = "ConfigMap", version: str = "v1", **more: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def _changed(obj: Object | None) -> bool:
    return obj is not None and (obj.get("data") or {}).get("a") == "changed"


def _evicted(obj: Object | None) -> bool:
    # The condition is a write of its own, before the deletion.
    return obj is None or any(
        each["type"] == "DisruptionTarget" for each in obj["status"].get("conditions") or ()
    )


CHANGED = {"data": {"a": "changed"}}
FIRST = made("x", data={"a": "first"})
POD = made("x", "Pod", spec={"containers": CONTAINERS})
DEPLOYMENT = made(
    "x", "Deployment", "apps/v1",
    spec={"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
)  # fmt: skip
OPS: dict[str, Op] = {
    "create": Op(
        method="POST", path=MAPS, at=f"{MAPS}/x", body=FIRST, done=lambda obj: obj is not None
    ),
    "update": Op(
        method="PUT", path=f"{MAPS}/x", at=f"{MAPS}/x", first=FIRST, done=_changed,
        body=made("x", data=CHANGED["data"]),
    ),
    "merge patch": Op(
        method="PATCH", path=f"{MAPS}/x", at=f"{MAPS}/x", first=FIRST, done=_changed,
        body=CHANGED, media="application/merge-patch+json",
    ),
    "JSON patch": Op(
        method="PATCH", path=f"{MAPS}/x", at=f"{MAPS}/x", first=FIRST, done=_changed,
        body=[{"op": "replace", "path": "/data/a", "value": "changed"}],
        media="application/json-patch+json",
    ),
    "apply": Op(
        method="PATCH", path=f"{MAPS}/x", at=f"{MAPS}/x", first=FIRST, done=_changed,
        body=made("x", data=CHANGED["data"]), media="application/apply-patch+yaml",
        query={"fieldManager": "m", "force": "true"},
    ),
    "apply that creates": Op(
        method="PATCH", path=f"{MAPS}/x", at=f"{MAPS}/x", done=_changed,
        body=made("x", data=CHANGED["data"]), media="application/apply-patch+yaml",
        query={"fieldManager": "m"},
    ),
    "delete": Op(
        method="DELETE", path=f"{MAPS}/x", at=f"{MAPS}/x", first=FIRST,
        done=lambda obj: obj is None,
    ),
    "delete that finalizers hold": Op(
        method="DELETE", path=f"{MAPS}/x", at=f"{MAPS}/x",
        first={**FIRST, "metadata": {"name": "x", "finalizers": ["a.b/c"]}},
        done=lambda obj: obj is not None and "deletionTimestamp" in obj["metadata"],
    ),
    "delete of a collection": Op(
        method="DELETE", path=MAPS, at=f"{MAPS}/x", first=FIRST,
        done=lambda obj: obj is None,
    ),
    "status": Op(
        method="PATCH", path=f"{PODS}/x/status", at=f"{PODS}/x", first=POD,
        body={"status": {"message": "changed"}}, media="application/merge-patch+json",
        done=lambda obj: obj is not None and obj["status"].get("message") == "changed",
    ),
    "binding": Op(
        method="POST", path=f"{PODS}/x/binding", at=f"{PODS}/x", first=POD,
        body=made("x", "Binding", target={"kind": "Node", "name": "n"}),
        done=lambda obj: obj is not None and obj["spec"].get("nodeName") == "n",
    ),
    "eviction": Op(
        method="POST", path=f"{PODS}/x/eviction", at=f"{PODS}/x", first=POD,
        body=made("x", "Eviction", "policy/v1"),
        done=_evicted,
    ),
    "scale": Op(
        method="PATCH", path=f"{DEPLOYMENTS}/x/scale", at=f"{DEPLOYMENTS}/x", first=DEPLOYMENT,
        body={"spec": {"replicas": 3}}, media="application/merge-patch+json",
        done=lambda obj: obj is not None and obj["spec"]["replicas"] == 3,
    ),
    "token": Op(
        method="POST", path=f"{ACCOUNTS}/x/token", at=f"{ACCOUNTS}/x",
        first=made("x", "ServiceAccount"),
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    ),
    "list": Op(method="GET", path=MAPS, at=f"{MAPS}/x", first=FIRST, query={"limit": "1"}),
    "watch": Op(
        method="GET", path=MAPS, at=f"{MAPS}/x", first=FIRST,
        query={"watch": "1", "timeoutSeconds": "1"},
    ),
}  # fmt: skip
"""Requests by name."""


class Requests:
    """Interrupts requests of a server and looks at it.

    Args:
        server: which.
        outcome: told.
        interrupt: makes a call and interrupts it at the n-th point, from 1; returns whether it came
            to that.
    """

    def __init__(self, server: InProcess, outcome: Outcome, interrupt: Interrupt) -> None:
        self._server, self._outcome, self._interrupt = server, outcome, interrupt
        self._caller = Caller(server.api.handle, ALICE, "cancelled", None)
        self._told: dict[str, Object | None] = {}  # what watches said last

    async def watch(self, path: str, task_status: trio.TaskStatus[None]) -> None:
        """Keep what a watch says of each object; one that ended is begun anew."""
        begun = False
        while True:
            # From the present state on, which is told first.
            for at in [at for at in self._told if at.startswith(path)]:
                del self._told[at]
            with suppress(ApiError, MemoryError):
                async with self._server.client().watch(self._kind(path), "default") as events:
                    if not begun:
                        task_status.started()
                        begun = True
                    async for event in events:
                        at = f"{path}/{event.object['metadata']['name']}"
                        self._told[at] = None if event.type == "DELETED" else event.object
            await trio.sleep(BETWEEN_S)

    def _kind(self, path: str) -> Any:
        return self._server.client().kind(*WATCHED[path])

    async def get(self, path: str) -> Object | None:
        """An object, None where there is none."""
        try:
            return await self._caller.call("GET", path, {})
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    async def clear(self, op: Op) -> None:
        """Take the object of a request away."""
        if await self.get(op.at) is not None:
            free = {"metadata": {"finalizers": None}}
            await self._caller.call(
                "PATCH", op.at, {}, body=orjson.dumps(free), media=b"application/merge-patch+json"
            )
            if await self.get(op.at) is not None:
                await self._caller.call("DELETE", op.at, {"gracePeriodSeconds": "0"})

    async def ask(self, op: Op) -> None:
        """Make the request while others are made, and take what a stream brings."""
        if "watch" in op.query:
            client = self._server.client().as_user(ALICE)
            async with client.watch(self._kind(op.path), "default", timeout_s=1) as events:
                async for _ in events:
                    pass
            return
        body = b"" if op.body is None else orjson.dumps(op.body)

        async def read_body(_: int) -> bytes:
            await trio.sleep(READ_S)
            return body

        raw = [(b"accept", b"application/json")]
        if body:
            raw.append((b"content-type", op.media.encode()))
        request = Request(
            method=op.method,
            raw_path=op.path,
            raw_query=urlencode(op.query),
            headers=by_name(raw),
            raw_headers=raw,
            read_body=read_body,
            certificate=ALICE,
        )
        await self._server.api.handle(request)

    async def crowd(self, number: int) -> None:
        """Write other objects, so that there is something to wait for."""
        path = f"/api/v1/namespaces/default/secrets/crowd{number}"
        body = orjson.dumps(made(f"crowd{number}", "Secret", data={}))
        query = {"fieldManager": "m", "force": "true"}
        with suppress(ApiError, MemoryError):  # what interrupts may meet these
            media = b"application/apply-patch+yaml"
            await self._caller.call("PATCH", path, query, body=body, media=media)
            await self._caller.call("DELETE", path, {})

    async def interrupt_all(self, what: str, numbers: Sequence[int] = range(1, MOST)) -> None:
        """Interrupt a request at one point after the other until it has no more."""
        for number in numbers:
            try:
                reached = await self._once(what, number)
            except ApiError as error:
                self._say(what, number, f"the server does not go on: {error}")
                return
            if not reached:
                return
            self._outcome.points[what] += 1

    async def _once(self, what: str, number: int) -> bool:
        """Interrupt a request at one point; whether it came to that."""
        op = OPS[what]
        await self.clear(op)
        if op.first is not None:
            await self._caller.call("POST", op.at.rpartition("/")[0], {}, op.first)
        await trio.sleep(LINGER_S)
        before, tasks_before = await self.get(op.at), tasks()
        async with trio.open_nursery() as nursery:
            for each in range(CROWD):
                nursery.start_soon(self.crowd, each)
            await trio.lowlevel.checkpoint()
            reached = await self._interrupt(number, partial(self.ask, op))
        await trio.sleep(LINGER_S)
        await wait_all_tasks_blocked()
        after = await self.get(op.at)
        if op.done(after):
            self._outcome.kept[what] += reached
        elif not reached and op.done is not Op.done:
            self._say(what, number, "it ends and is not carried out")
        elif after != before:
            self._say(what, number, f"neither before nor after: {after}")
        await self._look(what, number, op, after, tasks_before)
        return reached

    def _say(self, what: str, number: int, text: str) -> None:
        self._outcome.problems.append(f"{what}, point {number}: {text}")

    async def _look(
        self, what: str, number: int, op: Op, after: Object | None, tasks_before: Counter[str]
    ) -> None:
        edge = self._server.api.edge
        if edge.in_flight.requests:
            self._say(what, number, f"{edge.in_flight.requests} requests are under way")
        for level in edge.flow.gate.snapshot().statistics.levels:  # type: ignore[attr-defined]
            queues = level.queues
            if queues.seats_in_use or queues.waiting:
                self._say(what, number, f"level {level.name}: {queues.seats_in_use} seats in use")
        if left := tasks() - tasks_before:
            self._say(what, number, f"tasks were left: {dict(left)}")
        told = self._told.get(op.at)
        if told != after:
            self._say(what, number, f"a watch tells {told}, a read {after}")
        listed = await self._caller.call("GET", op.at.rpartition("/")[0], {})
        name = op.at.rpartition("/")[2]
        found = [item for item in listed["items"] if item["metadata"]["name"] == name]
        if [_version(item) for item in found] != ([_version(after)] if after else []):
            versions = [_version(item) for item in found]
            self._say(what, number, f"a list shows {versions}, a read {after}")
        if after is not None and "deletionTimestamp" not in after["metadata"]:
            marked = {"metadata": {"annotations": {"again": str(number)}}}
            await self._caller.call(
                "PATCH", op.at, {}, body=orjson.dumps(marked), media=b"application/merge-patch+json"
            )


def _version(obj: Object) -> str:
    version: str = obj["metadata"]["resourceVersion"]
    return version


def config_of(directory: Path) -> Config:
    """How servers are made here."""
    config = replace(
        in_memory(directory),
        controllers=("-*",),
        authorization=Authorization(modes=("AlwaysAllow",)),
        flowcontrol=FlowControl(
            max_requests_inflight=SEATS // 2, max_mutating_requests_inflight=SEATS // 2
        ),
    )
    return replace(config, storage=replace(config.storage, durability="full"))


async def _apart(fn: Callable[[*Args], T], *arguments: *Args) -> T:
    """Make a blocking call as a thread would: it takes a while, and cannot be cancelled."""
    with trio.CancelScope() as scope:
        scope.shield = True
        await trio.sleep(BLOCKING_S)
    return fn(*arguments)


@asynccontextmanager
async def serving(directory: Path, seed: int) -> AsyncIterator[InProcess]:
    """A server on a directory."""
    async with open_api(
        env=replace(seeded(seed), run_blocking=_apart), config=config_of(directory), kept=True
    ) as server:
        yield server


async def interrupt_requests(
    directory: Path,
    seed: int,
    names: Sequence[str],
    outcome: Outcome,
    interrupt: Interrupt,
    numbers: Sequence[int] = range(1, MOST),
) -> None:
    """Interrupt requests at points.

    Args:
        directory: of the server.
        seed: of its randomness.
        names: of requests among `OPS`.
        outcome: told.
        interrupt: see `Requests`.
        numbers: of points.
    """
    async with serving(directory, seed) as server, trio.open_nursery() as nursery:
        requests = Requests(server, outcome, interrupt)
        for path in WATCHED:
            await nursery.start(requests.watch, path)
        for what in names:
            await requests.interrupt_all(what, numbers)
        nursery.cancel_scope.cancel()


def run(what: Callable[[], Awaitable[Any]], seed: int = 0) -> Any:
    """Run something on a clock that does not wait."""
    seed_scheduler(seed)

    async def main() -> Any:
        with trio.fail_after(ENDS_S):
            return await what()

    return trio.run(main, clock=MockClock(autojump_threshold=0))
