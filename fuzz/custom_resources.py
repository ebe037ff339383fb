"""Custom resources against a model of structural schemas.

Target of ``python -m fuzz``: ``python -m fuzz "custom resources" --seconds 60``.  A round is a
server in this process, definitions whose schemas are drawn, and objects of them that are created,
replaced, patched and read, also behind another schema.
"""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

from fuzz.interrupting import config_of, run
from fuzz.rounds import Round, Target
from fuzz.schema_model import Json, pruned, schema, settled, valid, value
from fuzz.values import merge_by_rfc
from kubetrio.env import seeded
from kubetrio.harness.exchange import Answer
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api

GROUP = "model.example.test"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
KINDS, WRITES = 3, 14  # of one round, and of one kind
NAMES = ("x", "y", "z")
MODES = ("", "Strict", "Warn", "Ignore")


def definition(plural: str, spec: Json) -> Json:
    """A definition of a kind whose ``spec`` is of a schema."""
    whole = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": plural.title()},
            "versions": [version],
        },
    }


@dataclass
class Player:
    """Writes objects of a kind, and judges the answers.

    Args:
        client: asks.
        rng: draws.
        told: where what is found goes.
        plural: of the kind.
        of: schema of ``spec``.
    """

    client: Client
    rng: Random
    told: Round
    plural: str
    of: Json
    live: dict[str, Json] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where objects are."""
        return f"/apis/{GROUP}/v1/namespaces/default/{self.plural}"

    def _object(self, name: str, spec: Any) -> Json:
        made: Json = {"apiVersion": f"{GROUP}/v1", "kind": self.plural.title()}
        made["metadata"] = {"name": name}
        if name in self.live:
            made["metadata"]["resourceVersion"] = self.live[name]["metadata"]["resourceVersion"]
        return made | {"spec": spec}

    async def write(self) -> None:
        """Create, replace or patch an object; it is stored as the model says, or refused."""
        name = self.rng.choice(NAMES)
        there = self.live.get(name)
        patched = there is not None and self.rng.random() < 0.4
        spec = value(self.rng, self.of)
        if patched and there is not None:
            sent: Any = {"spec": spec}
            whole = {key: inner for key, inner in there.items() if key == "spec"}
            whole = merge_by_rfc(whole, copy.deepcopy(sent))
        else:
            sent = self._object(name, spec)
            whole = {"spec": spec}
        mode = self.rng.choice(MODES)
        query = f"?fieldValidation={mode}" if mode else ""
        method = "PATCH" if patched else "PUT" if there else "POST"
        target = self.path + (f"/{name}" if there else "") + query
        media = {"Content-Type": MERGE} if patched else {}
        self.told.executions += 1
        answer = await self.client.request(method, target, media, json=sent)
        self._judge(name, method, mode, sent, whole, answer)

    def _judge(
        self, name: str, method: str, mode: str, sent: Any, whole: Json, answer: Answer
    ) -> None:
        root = {"type": "object", "properties": {"spec": self.of}}
        kept, gone = pruned(root, whole)
        wanted = settled(root, kept)
        refused = not valid(root, wanted) or (mode == "Strict" and gone)
        said = f"{method} {sent} for {self.of} ({mode})"
        if refused:
            code = 400 if mode == "Strict" and gone and method != "PATCH" else 422
            self.told.require(
                answer.status == code, f"{said}: {answer.status} {answer.body[:300]!r}"
            )
            return
        if answer.status not in (200, 201):
            self.told.problems.append(f"{said}: {answer.status} {answer.body[:600]!r}")
            return
        stored = answer.json()
        self.live[name] = stored
        self.told.require(
            stored.get("spec") == wanted.get("spec"),
            f"{said}: stores {stored.get('spec')}, not {wanted.get('spec')}",
        )

    async def read(self, of: Json) -> None:
        """Read each object, alone and in a list: as it is stored, by a schema of now."""
        root = {"type": "object", "properties": {"spec": of}}
        listed = (await self.client.request("GET", self.path)).json()
        found = {item["metadata"]["name"]: item.get("spec") for item in listed["items"]}
        for name, stored in self.live.items():
            self.told.executions += 1
            one = (await self.client.request("GET", f"{self.path}/{name}")).json().get("spec")
            whole = {key: inner for key, inner in stored.items() if key == "spec"}
            wanted = settled(root, pruned(root, whole)[0]).get("spec")
            self.told.require(
                one == wanted and found.get(name) == wanted,
                f"{whole} of {self.of} reads by {of} as {one}, in a list as {found.get(name)}, "
                f"not as {wanted}",
            )


async def _kind(server: InProcess, client: Client, rng: Random, told: Round, number: int) -> None:
    plural, of = f"model{number}s", schema(rng)
    made = await client.request("POST", DEFINITIONS, json=definition(plural, of))
    if made.status != 201:
        told.problems.append(f"the schema {of} is refused: {made.body[:600]!r}")
        return
    await server.settled()
    player = Player(client, rng, told, plural, of)
    for _ in range(WRITES):
        await player.write()
    await player.read(of)
    later = schema(rng)
    patch = definition(plural, later)["spec"]["versions"]
    path = f"{DEFINITIONS}/{plural}.{GROUP}"
    changed = await client.request(
        "PATCH", path, {"Content-Type": MERGE}, json={"spec": {"versions": patch}}
    )
    if changed.status != 200:
        told.problems.append(f"the schema {later} is refused: {changed.body[:600]!r}")
        return
    await server.settled()
    await player.read(later)


async def play(seed: int, told: Round) -> None:
    """Play a round."""
    rng = seeded(seed).rng
    with tempfile.TemporaryDirectory(prefix="kubetrio-custom-") as folder:
        config = config_of(Path(folder))
        async with (
            open_api(env=seeded(seed), config=config, kept=True) as server,
            server.connect() as client,
        ):
            for number in range(KINDS):
                await _kind(server, client, rng, told, number)


def round_of(seed: int) -> Round:
    """The round of a seed."""
    told = Round()
    run(lambda: play(seed, told), seed)
    return told


TARGET = Target(
    "custom resources",
    "An object of a drawn schema is pruned, filled in, refused and read as a model of schemas has "
    "it, through each method and behind a change of the schema.",
    round_of,
)
