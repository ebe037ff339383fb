"""Server-side apply against a model: a set of leaves, each with its owners.

Target of ``python -m fuzz``: ``python -m fuzz apply --seconds 60``.  A round is a server in this
process and objects of a custom resource with a map, a set, a list with keys and a list without,
which managers apply, with and without force, and writers replace.

Source of the rules: docs "Server-Side Apply" (conflicts, ownership, field removal, merge strategy).
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

from fuzz.custom_resources import DEFINITIONS, GROUP, definition
from fuzz.interrupting import config_of, run
from fuzz.rounds import Round, Target
from kubetrio.env import seeded
from kubetrio.harness.exchange import Answer
from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api

Json = dict[str, Any]
Leaf = tuple[str, ...]
"""Where a value is: ``("a",)``, ``("map", key)``, ``("set", member)``, ``("rows", name, field)``;
``("rows", name, ".")`` stands for the row itself."""
Leaves = dict[Leaf, Any]

PLURAL = "leaves"
PATH = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}"
APPLY = "application/apply-patch+yaml"
STEPS = 40  # of one round
NAMES, KEYS, VALUES = ("x", "y"), ("k", "l", "m"), ("1", "2")
APPLIERS, WRITERS = ("ann", "bea", "cid"), ("put", "out")
TEXT = {"type": "string"}
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "b": TEXT,
        "map": {"type": "object", "additionalProperties": TEXT},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "plain": {"type": "array", "items": TEXT},
        "rows": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": TEXT, "v": TEXT, "w": TEXT},
            },
        },
    },
}


def leaves_of(spec: Json) -> Leaves:
    """The leaves of a spec."""
    found: Leaves = {(name,): spec[name] for name in ("a", "b", "plain") if name in spec}
    found |= {("map", key): value for key, value in spec.get("map", {}).items()}
    found |= {("set", member): member for member in spec.get("set", ())}
    for row in spec.get("rows", ()):
        found |= {("rows", row["name"], key): value for key, value in row.items()}
        found["rows", row["name"], "."] = None
    return found


def spec_of(leaves: Leaves) -> Json:
    """The spec that has these leaves."""
    spec: Json = {}
    rows: dict[str, Json] = {}
    for leaf, value in sorted(leaves.items(), key=lambda one: one[0]):
        match leaf:
            case ("map", key):
                spec.setdefault("map", {})[key] = value
            case ("set", member):
                spec.setdefault("set", []).append(member)
            case ("rows", name, inner):
                row = rows.setdefault(name, {})
                if inner != ".":
                    row[inner] = value
            case (name,):
                spec[name] = value
    return spec | ({"rows": list(rows.values())} if rows else {})


def owned(fields: Json) -> set[Leaf]:
    """The leaves below ``f:spec`` of an entry of managedFields."""
    found: set[Leaf] = set()
    for step, below in fields.get("f:spec", {}).items():
        name = step.removeprefix("f:")
        if name in ("a", "b", "plain"):
            found.add((name,))
        for inner, row in below.items():
            kind, _, rest = inner.partition(":")
            if kind == "f":
                found.add((name, rest))
            elif kind == "v":
                found.add((name, json.loads(rest)))
            elif kind == "k":
                key = json.loads(rest)["name"]
                found |= {(name, key, part.removeprefix("f:")) for part in row}
    return found


@dataclass
class Model:
    """An object.

    Attributes:
        live: its leaves.
        owners: leaves by who applied or wrote them.
    """

    live: Leaves = field(default_factory=dict)
    owners: dict[str, set[Leaf]] = field(default_factory=dict)

    def conflicts(self, manager: str, wanted: Leaves) -> set[tuple[str, Leaf]]:
        """Who else has leaves that an apply would change."""
        return {
            (other, leaf)
            for leaf, value in wanted.items()
            for other, theirs in self.owners.items()
            if other != manager and leaf in theirs and self.live.get(leaf, value) != value
        }

    def apply(self, manager: str, wanted: Leaves) -> None:
        """Apply with force, or without conflicts."""
        for other, leaf in self.conflicts(manager, wanted):
            self.owners[other].discard(leaf)
        given_up = self.owners.get(manager, set()) - set(wanted)
        self.owners[manager] = set(wanted)
        others = set().union(*self.owners.values())
        self.live = {leaf: v for leaf, v in self.live.items() if leaf not in given_up - others}
        self.live |= wanted
        self._tidy()

    def write(self, manager: str, whole: Leaves) -> None:
        """Replace all of it."""
        changed = {leaf for leaf, value in whole.items() if self.live.get(leaf, ...) != value}
        gone = set(self.live) - set(whole)
        for leaves in self.owners.values():
            leaves -= changed | gone
        self.owners.setdefault(manager, set()).update(changed)
        self.live = dict(whole)
        self._tidy()

    def _tidy(self) -> None:
        self.owners = {name: leaves for name, leaves in self.owners.items() if leaves}


@dataclass
class Player:
    """Applies and replaces objects, and compares them with the model.

    Args:
        client: asks.
        rng: draws.
        told: where what is found goes.
    """

    client: Client
    rng: Random
    told: Round
    models: dict[str, Model] = field(default_factory=dict)
    seen: dict[str, Json] = field(default_factory=dict)

    def _drawn(self, *, rows: bool) -> Leaves:
        rng = self.rng
        made: Leaves = {}
        for name in ("a", "b"):
            if rng.random() < 0.4:
                made[name,] = rng.choice(VALUES)
        if rng.random() < 0.3:
            made["plain",] = [rng.choice(VALUES)]
        for key in KEYS:
            if rng.random() < 0.3:
                made["map", key] = rng.choice(VALUES)
            if rng.random() < 0.3:
                made["set", key] = key
            if rows and rng.random() < 0.4:
                made["rows", key, "."] = None
                made["rows", key, "name"] = key
                for inner in ("v", "w"):
                    if rng.random() < 0.5:
                        made["rows", key, inner] = rng.choice(VALUES)
        return made

    def _object(self, name: str, leaves: Leaves) -> Json:
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": PLURAL.title(),
            "metadata": {"name": name},
            "spec": spec_of(leaves),
        }

    async def apply(self, name: str) -> None:
        """Apply, and apply again; without force the answer names the others' leaves."""
        manager, wanted = self.rng.choice(APPLIERS), self._drawn(rows=True)
        force = self.rng.random() < 0.5
        model = self.models.get(name) or Model()
        conflicts = model.conflicts(manager, wanted)
        before = self.seen.get(name)
        query = f"?fieldManager={manager}&force={str(force).lower()}"
        body = json.dumps(self._object(name, wanted)).encode()
        said = f"{manager} applies {spec_of(wanted)} ({force}) to {before and before['spec']}"
        answer = await self._apply(name, query, body)
        if conflicts and not force:
            self.told.require(answer.status == 409, f"{said}: {answer.status}")
            if answer.status == 409:
                causes = answer.json()["details"]["causes"]
                found = sorted(cause["field"] for cause in causes)
                named = sorted(_shown(leaf) for _, leaf in conflicts)
                self.told.require(found == named, f"{said}: conflicts {found}, not {named}")
            return
        if answer.status not in (200, 201):
            self.told.problems.append(f"{said}: {answer.status} {answer.body[:400]!r}")
            return
        model.apply(manager, wanted)
        self.models[name] = model
        self._same(name, said, answer.json())
        again = await self._apply(name, query, body)
        self.told.require(again.body == answer.body, f"{said}: again it changes something")

    async def _apply(self, name: str, query: str, body: bytes) -> Answer:
        self.told.executions += 1
        headers = {"Content-Type": APPLY}
        return await self.client.request("PATCH", f"{PATH}/{name}{query}", headers, body)

    async def write(self, name: str) -> None:
        """Replace an object but for its rows, and replace it again by what it is."""
        model = self.models.get(name)
        if model is None:
            return
        manager = self.rng.choice(WRITERS)
        rows = {leaf: value for leaf, value in model.live.items() if leaf[0] == "rows"}
        kept = {leaf: v for leaf, v in model.live.items() if self.rng.random() < 0.8}
        whole = kept | self._drawn(rows=False) | rows
        body = {**self._object(name, whole), "metadata": self.seen[name]["metadata"]}
        said = f"{manager} writes {spec_of(whole)} over {self.seen[name]['spec']}"
        self.told.executions += 1
        target = f"{PATH}/{name}?fieldManager={manager}"
        answer = await self.client.request("PUT", target, json=body)
        if answer.status != 200:
            self.told.problems.append(f"{said}: {answer.status} {answer.body[:400]!r}")
            return
        model.write(manager, whole)
        self._same(name, said, answer.json())
        again = await self.client.request("PUT", target, json=answer.json())
        self.told.require(again.body == answer.body, f"{said}: again it changes something")

    async def delete(self, name: str) -> None:
        """Delete an object; nothing is left of its owners."""
        if self.models.pop(name, None) is not None:
            self.told.executions += 1
            await self.client.request("DELETE", f"{PATH}/{name}")
            del self.seen[name]

    def _same(self, name: str, said: str, stored: Json) -> None:
        model = self.models[name]
        self.seen[name] = stored
        live = leaves_of(stored.get("spec", {}))
        self.told.require(live == model.live, f"{said}: {live}, not {model.live}")
        entries = stored["metadata"].get("managedFields", [])
        owners = {entry["manager"]: owned(entry["fieldsV1"]) for entry in entries}
        owners = {manager: leaves for manager, leaves in owners.items() if leaves}
        self.told.require(owners == model.owners, f"{said}: {owners}, not {model.owners}")


def _shown(leaf: Leaf) -> str:
    match leaf:
        case ("rows", name, inner):
            return f'.spec.rows[name="{name}"].{inner}'
        case _:
            return ".spec." + ".".join(leaf)


async def play(seed: int, told: Round) -> None:
    """Play a round."""
    rng = seeded(seed).rng
    with tempfile.TemporaryDirectory(prefix="kubetrio-apply-") as folder:
        config = config_of(Path(folder))
        async with (
            open_api(env=seeded(seed), config=config, kept=True) as server,
            server.connect() as client,
        ):
            await client.request("POST", DEFINITIONS, json=definition(PLURAL, SCHEMA))
            await server.settled()
            player = Player(client, rng, told)
            ways = [player.apply, player.apply, player.apply, player.write, player.write]
            for _ in range(STEPS):
                way = player.delete if rng.random() < 0.03 else rng.choice(ways)
                await way(rng.choice(NAMES))


def round_of(seed: int) -> Round:
    """The round of a seed."""
    told = Round()
    run(lambda: play(seed, told), seed)
    return told


TARGET = Target(
    "apply",
    "Each field belongs to those who applied or wrote its value, an apply changes what it says and "
    "drops what it gave up, a conflict names the others' fields, and an apply again changes "
    "nothing.",
    round_of,
)
