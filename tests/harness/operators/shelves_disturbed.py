"""Mistakes of operators that one disturbance each brings to light, and the plan that does.

`Case.changes` are made in the operator of the page about fuzzing operators; `Case.source` takes its
place where the mistake is in what that page leaves to the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shelves import SHELF, SOURCE, books

from kubetrio.faults import Rule
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.runs import Operator
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.script import Inject, Settle

RUN = "    await Shelves(client).manager.run()"
HELPER = "\n    def config_map("
ABOUT = subject(SHELF)
CREATE, MORE = ABOUT.create("a", books(1)), ABOUT.create("a", books(2))
OTHER = ABOUT.create("b", books(1))
FEWER, DELETE, REST = ABOUT.change("a", books(1)), ABOUT.delete("a"), Settle()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mistake and how it shows.

    Args:
        rule: that tells of it.
        steps: of the plan by which it shows.
        changes: texts of the right operator, and what is there with the mistake.
        helper: methods more.
        source: another operator in place of the right one.
    """

    rule: str
    steps: Sequence[Step]
    changes: Mapping[str, str] | None = None
    helper: str = ""
    source: str = ""

    @property
    def plan(self) -> Plan:
        """The plan by which it shows."""
        return Plan(steps=tuple(self.steps))

    @property
    def operator(self) -> Operator:
        """The operator with the mistake."""
        source = self.source or SOURCE
        for right, wrong in (self.changes or {}).items():
            assert right in source, right
            source = source.replace(right, wrong)
        source = source.replace(HELPER, f"\n{self.helper}{HELPER}")
        names: dict[str, Any] = {}
        exec(compile(f"import trio\n{source}", f"shelves ({self.rule})", "exec"), names)
        chosen: Operator = names["operate"]
        return chosen


def wrong(fault: str, **more: Any) -> Inject:
    """A fault comes into force."""
    return Inject(rule=Rule(fault=fault, **more))


ENTRIES = """
from kubetrio.embedding import ApiError, Client

async def operate(client: Client) -> None:
    shelves, maps = client.kind("example.com/v1", "Shelf"), client.kind("v1", "ConfigMap")
    since = (await client.list(shelves, "default")).resource_version
    while True:
        try:
            async with client.watch(shelves, "default", resource_version=since) as events:
                async for event in events:
                    meta = event.object["metadata"]
                    since = meta["resourceVersion"]
                    name = f"{meta['name']}-entry"
                    try:
                        if event.type == "ADDED":
                            head = {"apiVersion": "v1", "kind": "ConfigMap"}
                            entry = {"name": name, "namespace": "default"}
                            await client.create({**head, "metadata": entry})
                        elif event.type == "DELETED":
                            await client.delete(maps, name, "default")
                    except ApiError as error:
                        if error.code not in (404, 409):
                            raise
        except ApiError as error:
            if error.code != 410:
                raise
            since = ""
        await trio.sleep(1)
"""
"""An operator that goes on from now where its watch expires, and does not see what it missed."""
STAMP = """
    async def stamp(self, shelf, title, owner):
        await self.make(self.config_map(shelf, title, owner))
        book = await self.client.get(self.books.kind, title, shelf["metadata"]["namespace"])
        number = int(book.get("data", {}).get("number", "0")) + 1
        await self.client.update({**book, "data": {"number": str(number)}})
"""
BEATS = """
    shelves, beats = Shelves(client), 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shelves.manager.run)
        while True:
            await trio.sleep(5)
            beats += 1
            for book in shelves.books:
                await client.update({**book, "data": {"beat": str(beats)}})
"""
ADOPTS = """
    adopting = Shelves(client)
    kind = client.kind(GROUP, "Shelf")
    listed = await client.list(adopting.books.kind, "default", resource_version="0")
    names = {book["metadata"]["name"] for book in listed.items}
    for shelf in (await client.list(kind, "default")).items:
        meta = shelf["metadata"]
        owner = {"apiVersion": GROUP, "kind": "Shelf", "name": meta["name"], "uid": meta["uid"]}
        for number in range(shelf["spec"]["books"]):
            if f"{meta['name']}-{number}" not in names:
                book = adopting.config_map(shelf, "", owner)
                book["metadata"]["generateName"] = f"{meta['name']}-{number}-"
                await client.create(book)
    await adopting.manager.run()
"""
REVIVES = """
    def look(self, old, new):
        if new is None and old["metadata"]["name"].endswith("-entry"):
            meta = old["metadata"]
            self.entries.enqueue(meta["labels"]["shelf"], meta["namespace"], after_s=1)

    async def revive(self, request):
        shelf = self.shelves.get(request.name, request.namespace)
        if shelf is not None:
            await self.make(self.config_map(shelf, f"{request.name}-entry"))
"""
FOLLOWS = '        controller.owns(self.books, "Shelf")\n'
MAKE = "            await self.client.create(obj)\n"
REFUSED = 'if error.reason != "AlreadyExists":'
LOST = "        if shelf is None:\n            return\n"
OWNER = 'owner = {"apiVersion": GROUP, '

CASES: Mapping[str, Case] = {
    "a refusal that is taken for success": Case(
        rule="refusal-not-retried",
        steps=(wrong("503", verb="create", count=8), CREATE),
        changes={REFUSED: "if error.code < 500 and error.reason != 'AlreadyExists':"},
    ),
    "a refusal that is tried again too early": Case(
        rule="retry-after-ignored",
        steps=(wrong("429", verb="create", retry_after_s=5, count=8), CREATE),
        changes={
            f"        except ApiError as error:\n            {REFUSED}\n": (
                "        except ApiError as error:\n"
                "            if error.code == 429:\n"
                "                await trio.sleep(0.1)\n"
                "                return await self.make(obj)\n"
                f"            {REFUSED}\n"
            )
        },
    ),
    "an answer that is not waited for": Case(
        rule="wrong-end",
        steps=(wrong("latency", resource="configmaps", delay_s=5), CREATE),
        changes={
            MAKE: "            with trio.move_on_after(3):\n                "
            "await self.client.create(obj)\n"
        },
    ),
    "a stale list": Case(
        rule="stale-cache-trusted",
        steps=(wrong("stale"), CREATE, REST, Crash()),
        changes={RUN: ADOPTS},
    ),
    "a watch that ends": Case(
        rule="crashed",
        steps=(CREATE, REST, wrong("watch-close", verb="watch", count=1), DELETE),
        source=ENTRIES.replace("    while True:\n", "    for _ in range(1):\n", 1),
    ),
    "a connection that breaks": Case(
        rule="crashed",
        steps=(CREATE, REST, wrong("watch-drop", verb="watch", count=1), DELETE),
        source=ENTRIES.replace("    while True:\n", "    for _ in range(1):\n", 1),
    ),
    "events that are dropped": Case(
        rule="wrong-end",
        steps=(CREATE, REST, wrong("410", verb="watch", count=3), OTHER, DELETE),
        source=ENTRIES,
    ),
    "a deletion while it is down": Case(
        rule="wrong-end",
        steps=(CREATE, REST, Crash(), DELETE),
        changes={
            LOST: "        if shelf is None:\n"
            '            await self.remove(f"{request.name}-entry", request.namespace)\n'
            "            return\n",
            "if FINALIZER not in finalizers:": "if False:",
        },
    ),
    "a death after a chosen write": Case(
        rule="stuck-in-deletion",
        steps=(CREATE, REST, Crash(writes=1), DELETE),
        changes={"if error.code != 404:": "if True:"},
    ),
    "what is known in memory alone": Case(
        rule="wrong-end",
        steps=(MORE, REST, Crash(), FEWER),
        changes={
            'self.books = manager.informer("v1"': "self.mine = set()\n        self.books = "
            'manager.informer("v1"',
            MAKE: f"{MAKE}            self.mine.add(obj['metadata']['name'])\n",
            'if book["metadata"]["name"] not in titles:': 'name = book["metadata"]["name"]\n'
            "                if name in self.mine - titles:",
        },
    ),
    "one watch that is behind another": Case(
        rule="wrong-end",
        steps=(CREATE, REST, wrong("watch-delay", resource="shelves", delay_s=5), DELETE),
        changes={
            FOLLOWS: f"{FOLLOWS}        none = Selection(namespace='without')\n"
            "        no_maps = manager.informer('v1', 'ConfigMap', none)\n"
            "        self.entries = manager.controller('entries', self.revive, no_maps)\n"
            "        self.books.on_change(self.look)\n"
        },
        helper=REVIVES,
    ),
    "an owner that no collector knows": Case(
        rule="orphan",
        steps=(CREATE, REST, DELETE),
        changes={OWNER: 'owner = {"apiVersion": "example.com/v2", '},
    ),
    "writes by its own events": Case(
        rule="write-storm",
        steps=(CREATE,),
        changes={
            "await self.make(self.config_map(shelf, title, owner))": "await self.stamp(shelf, "
            "title, owner)"
        },
        helper=STAMP,
    ),
    "writes by the clock": Case(rule="never-settles", steps=(CREATE,), changes={RUN: BEATS}),
}
"""The mistakes, by what brings them to light."""
