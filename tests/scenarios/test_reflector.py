"""Caches kept by list and watch equal the server's state, whatever happens to connections.

Random writers, reflectors with and without selectors, cut and slow connections, a window of a few
events and compaction under everybody, in deterministic time.
"""

from __future__ import annotations

from collections import Counter
from random import Random  # noqa: TID251  (a type; the generators are seeded)
from typing import Any

import pytest
import trio
import trio.testing
from examples import drawn, shortened, some_of
from hypothesis import given
from hypothesis import strategies as st
from reflector import Chosen, History, Object, Pipeline, Reflector, bare, key_of, tiny_window

from kubetrio.env import seeded
from kubetrio.testing.server import InProcess, open_api

SEEDS = 100
CHANGES = 100  # of each seed
WRITERS = 3
SETTLE_S = 30.0
MERGE = "application/merge-patch+json"

CONFIGMAPS = "/api/v1/configmaps"
PODS = "/api/v1/pods"
NAMESPACES = ("default", "other")
TIERS = (None, "a", "b", "c")
WRITES = ("create", "replace", "label", "phase", "delete")


def label(obj: Object, name: str) -> str | None:
    value: str | None = (obj["metadata"].get("labels") or {}).get(name)
    return value


CHOSEN = {
    "configmaps": (
        Chosen(CONFIGMAPS),
        Chosen("/api/v1/namespaces/other/configmaps", namespace="other"),
        Chosen(CONFIGMAPS, {"labelSelector": "tier=a"}, lambda o: label(o, "tier") == "a"),
        Chosen(CONFIGMAPS, {"labelSelector": "tier!=a"}, lambda o: label(o, "tier") != "a"),
        Chosen(
            CONFIGMAPS,
            {"labelSelector": "tier in (a,b),!frozen"},
            lambda o: label(o, "tier") in ("a", "b") and label(o, "frozen") is None,
        ),
        Chosen(
            CONFIGMAPS,
            {"fieldSelector": "metadata.name=x1"},
            lambda o: o["metadata"]["name"] == "x1",
        ),
        Chosen(
            CONFIGMAPS,
            {"fieldSelector": "metadata.name!=x1,metadata.namespace=default"},
            lambda o: o["metadata"]["name"] != "x1" and o["metadata"]["namespace"] == "default",
        ),
    ),
    "pods": (
        Chosen(PODS),
        Chosen(
            PODS,
            {"fieldSelector": "status.phase=Running"},
            lambda o: o["status"]["phase"] == "Running",
        ),
        Chosen(
            "/api/v1/namespaces/default/pods",
            {"fieldSelector": "spec.nodeName=n1", "labelSelector": "tier"},
            lambda o: o["spec"].get("nodeName") == "n1" and label(o, "tier") is not None,
            namespace="default",
        ),
    ),
}


def labels(tier: str | None, frozen: bool) -> dict[str, str | None]:
    return {"tier": tier, "frozen": "yes" if frozen else None}


def body(kind: str, name: str, rng: Random) -> Object:
    chosen = labels(rng.choice(TIERS), rng.random() < 0.3)
    meta: Object = {"name": name, "labels": {k: v for k, v in chosen.items() if v}}
    if kind == "configmaps":
        return {"metadata": meta, "data": {"x": "y" * rng.randrange(200)}}
    spec: Object = {"containers": [{"name": "c", "image": "example.test/c:1"}]}
    if rng.random() < 0.5:
        spec["nodeName"] = rng.choice(("n1", "n2"))
    return {"metadata": meta, "spec": spec}


class Writer:
    """Random creates, updates, patches and deletes; others write the same objects."""

    def __init__(self, pipeline: Pipeline, history: History, rng: Random) -> None:
        self.pipeline = pipeline
        self.history = history
        self.rng = rng
        self.answers: Counter[tuple[str, int]] = Counter()

    async def step(self) -> None:
        rng = self.rng
        kind = rng.choice(("configmaps", "configmaps", "pods"))
        what = rng.choice(("create", *WRITES))
        await self.write(what, kind, rng.choice(NAMESPACES), f"x{rng.randrange(5)}")

    async def write(self, what: str, kind: str, namespace: str, name: str) -> None:
        folder = f"/api/v1/namespaces/{namespace}/{kind}"
        path = f"{folder}/{name}"
        code, answer = await self._write(what, kind, folder, path, name)
        self.answers[what, code] += 1
        assert code in (200, 201, 404, 409), answer
        if code < 300 and what != "delete":
            revision = int(answer["metadata"]["resourceVersion"])
            # A write that changes nothing answers with an older revision.
            if revision > self.history.base:
                assert answer == self.history.object(revision)

    async def _write(
        self, what: str, kind: str, folder: str, path: str, name: str
    ) -> tuple[int, Any]:
        rng, call = self.rng, self.pipeline.call
        if what == "create":
            return await call("POST", folder, body=body(kind, name, rng))
        if what == "delete":
            return await call("DELETE", path, {"gracePeriodSeconds": "0"})
        if what == "label":
            patch: Object = {"metadata": {"labels": labels(rng.choice(TIERS), False)}}
            return await call("PATCH", path, None, patch, MERGE)
        if what == "phase" and kind == "pods":
            patch = {"status": {"phase": rng.choice(("Pending", "Running", "Succeeded"))}}
            return await call("PATCH", path + "/status", None, patch, MERGE)
        code, obj = await call("GET", path)
        if code != 200:
            return code, obj
        await trio.sleep(rng.uniform(0, 0.2))  # room for a conflict
        obj["metadata"]["annotations"] = {"n": str(rng.randrange(5))}
        return await call("PUT", path, None, obj)


class Run:
    """One server, its writers, reflectors and chaos, on one seed."""

    def __init__(self, server: InProcess, seed: int) -> None:
        self.server = server
        self.rng = seeded(seed + 1_000_000).rng
        self.pipeline = Pipeline(server)
        self.history = History(server)
        tiny_window(server, self.rng.choice((0, 2000, 20_000)))
        self.reflectors = [
            Reflector(
                self.pipeline,
                self.history,
                f"{self._prefix(kind)}",
                chosen,
                Random(self.rng.getrandbits(32)),
                streaming=self.rng.random() < 0.4,
            )
            for kind, group in CHOSEN.items()
            for chosen in group
        ]
        self.compactions = 0

    def _prefix(self, kind: str) -> str:
        resource = self.server.api.storage.registry.get("", "v1", kind)
        assert resource is not None
        return resource.storage_prefix

    @property
    def changes(self) -> int:
        return self.history.newest - self.history.base

    async def write(self, writer: Writer, changes: int) -> None:
        while self.changes < changes:
            await writer.step()
            await trio.sleep(self.rng.choice((0, 0, 0.1, 5)) * self.rng.random())

    def cut(self, share: float) -> None:
        """Break the connections of some reflectors."""
        for reflector in self.reflectors:
            if reflector.wire is not None and self.rng.random() < share:
                reflector.wire.cut()

    async def compact(self, keep: int) -> None:
        """Forget all but the newest revisions, if there is something to forget."""
        store = self.server.api.storage.store
        to = store.revision - keep
        if to > store.compacted:
            await store.compact(to)
            self.compactions += 1

    async def disturb(self) -> None:
        """Cut connections and compact, for as long as it is let."""
        while True:
            await trio.sleep(self.rng.uniform(0, 3))
            self.cut(0.3)
            if self.rng.random() < 0.5:
                await self.compact(self.rng.randrange(10))

    async def settle(self) -> None:
        """Let everybody catch up in peace, then compare."""
        for reflector in self.reflectors:
            reflector.calm = True
        await trio.sleep(SETTLE_S)
        for reflector in self.reflectors:
            code, listed = await self.pipeline.call(
                "GET", reflector.chosen.path, reflector.chosen.query
            )
            assert code == 200
            assert reflector.cache == {key_of(item): bare(item) for item in listed["items"]}


async def setting(server: InProcess) -> None:
    code, answer = await Pipeline(server).call(
        "POST", "/api/v1/namespaces", None, {"metadata": {"name": "other"}}
    )
    assert code == 201, answer


async def scenario(seed: int, changes: int) -> Run:
    """A whole run."""
    async with open_api(seed=seed) as server:
        await setting(server)
        run = Run(server, seed)
        await run.history.begin()
        async with trio.open_nursery() as nursery:
            for reflector in run.reflectors:
                nursery.start_soon(reflector.run)
            async with trio.open_nursery() as chaos:
                chaos.start_soon(run.disturb)
                async with trio.open_nursery() as writers:
                    for _ in range(WRITERS):
                        rng = Random(run.rng.getrandbits(32))
                        writer = Writer(run.pipeline, run.history, rng)
                        writers.start_soon(run.write, writer, changes)
                chaos.cancel_scope.cancel()
            await run.settle()
            nursery.cancel_scope.cancel()
        assert not server.api.edge.streams, "a watch outlived its client"
        assert server.api.storage.hub.statistics().watchers == 0
        return run


def jumping() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


TOTALS: Counter[str] = Counter()


@pytest.mark.parametrize("seed", some_of(*range(SEEDS)))
def test_caches_equal_the_server(seed: int) -> None:
    """After a hundred random changes, cuts and compactions."""
    run = trio.run(scenario, seed, CHANGES, clock=jumping())
    assert run.changes >= CHANGES
    TOTALS.update({"seeds": 1, "changes": run.changes, "compactions": run.compactions})
    for reflector in run.reflectors:
        TOTALS.update(reflector.seen)


def test_the_seeds_went_everywhere() -> None:
    """Every way a reflector can go was gone many times, so the test above means something."""
    if TOTALS["seeds"] < drawn(SEEDS):
        pytest.skip("too few seeds were run in this process")
    for what in (
        "compactions",
        "page",
        "expired page",
        "expired watch",
        "listed",
        "streamed",
        "disconnected",
        "BOOKMARK",
        "ADDED",
        "MODIFIED",
        "DELETED",
    ):
        assert TOTALS[what] >= TOTALS["seeds"], (what, TOTALS)


STEPS = st.one_of(
    st.tuples(
        st.sampled_from(WRITES),
        st.sampled_from(("configmaps", "pods")),
        st.sampled_from(NAMESPACES),
        st.sampled_from(("x1", "x2")),
    ),
    st.tuples(st.just("cut"), st.sampled_from((0.3, 1.0))),
    st.tuples(st.just("compact"), st.integers(0, 3)),
    st.tuples(st.just("sleep"), st.sampled_from((0.0, 1.0, 60.0))),
)


async def play(seed: int, steps: list[tuple[Any, ...]]) -> None:
    """Steps one after the other; reflectors get their turns where a step waits."""
    async with open_api(seed=seed) as server:
        await setting(server)
        run = Run(server, seed)
        await run.history.begin()
        writer = Writer(run.pipeline, run.history, Random(seed))
        async with trio.open_nursery() as nursery:
            for reflector in run.reflectors:
                nursery.start_soon(reflector.run)
            for what, *rest in steps:
                if what == "cut":
                    run.cut(*rest)
                elif what == "compact":
                    await run.compact(*rest)
                elif what == "sleep":
                    await trio.sleep(*rest)
                else:
                    await writer.write(what, *rest)
            await run.settle()
            nursery.cancel_scope.cancel()


@shortened(40)
@given(seed=st.integers(0, 1000), steps=st.lists(STEPS, max_size=40))
def test_any_script_ends_in_equal_caches(seed: int, steps: list[tuple[Any, ...]]) -> None:
    """Whatever the order of writes, cuts, compactions and pauses."""
    trio.run(play, seed, steps, clock=jumping())
