"""States cover a schema: of definitions in the shape of popular ones, all but rules forbid."""

from __future__ import annotations

import random  # noqa: TID251  (seeded)
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from shelves import SHELF

from kubetrio.client import Client
from kubetrio.harness.operators.covering import (
    MOST_GRAFTS,
    MOST_MENDS,
    covering,
    graft,
    present,
    properties,
    reduced,
    schema_of,
)
from kubetrio.harness.operators.ground import open_ground
from kubetrio.harness.operators.sampling import Sampler
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.operators.walking import covered

Object = dict[str, Any]
DEFINITIONS = Path(__file__).parents[2] / "scenarios" / "definitions"
TEXT = {"type": "string"}
SPEC: Object = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": TEXT,
        "one": TEXT,
        "other": TEXT,
        "rows": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}},
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"b": TEXT}},
        },
    },
}
DEFINITION: Object = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {"spec": SPEC, "status": SPEC, "metadata": {}},
                    }
                },
            }
        ],
    }
}
PATHS = [
    "spec", "spec.name", "spec.one", "spec.other", "spec.rows", "spec.rows.[].a", "spec.map",
    "spec.map.{}.b",
]  # fmt: skip


def test_paths_of_a_schema_and_of_a_value() -> None:
    """Without the status, through lists and maps."""
    schema = schema_of(DEFINITION)
    assert [".".join(path) for path in properties(schema)] == PATHS
    body = {"spec": {"name": "x", "rows": [{}, {"a": "x"}], "map": {"k": {"b": "x"}}}}
    paths = {".".join(path) for path in present(body, schema)}
    assert paths == set(PATHS) - {"spec.one", "spec.other"}


def test_a_property_is_put_into_a_body_with_what_it_needs() -> None:
    """The body stays as it was."""
    schema, body = schema_of(DEFINITION), {"spec": {"name": "x"}}
    sampler = Sampler(random.Random(0))
    for path in properties(schema):
        assert path in set(present(graft(body, path, schema, sampler), schema))
    assert body == {"spec": {"name": "x"}}


def test_properties_that_exclude_each_other_are_in_states_of_their_own() -> None:
    """And what no server takes is missing."""

    def judge(bodies: Sequence[Object]) -> list[Sequence[str] | None]:
        specs = [one["spec"] for one in bodies]
        both = [{"one", "other"} <= spec.keys() for spec in specs]
        return [
            ["spec"] if bad else ["spec.map"] if "map" in spec else None
            for bad, spec in zip(both, specs, strict=True)
        ]

    done = covering(DEFINITION, judge, random.Random(0))
    assert set(done.missing) == {"spec.map", "spec.map.{}.b"}
    assert judge(done.states) == [None] * len(done.states)
    assert all(one["apiVersion"] == "example.com/v1" for one in done.states)
    assert [len(str(one)) for one in done.states] == sorted(len(str(one)) for one in done.states)


def test_what_nothing_is_taken_of() -> None:
    """Has no states."""
    done = covering(DEFINITION, lambda bodies: [["spec"]] * len(bodies), random.Random(0))
    assert done.states == []
    assert list(done.missing) == PATHS


def test_bodies_are_reduced() -> None:
    """To fewer, and to those members by which something shows."""
    whole: Object = {
        "kind": "Thing",
        "spec": {"name": "x", "one": "x", "rows": [{"a": "x"}, {"a": "y"}]},
    }

    def shows(bodies: Sequence[Object]) -> bool:
        return any(row.get("a") == "y" for one in bodies for row in one["spec"].get("rows", ()))

    small = reduced([whole, {"spec": {"name": "x"}}], schema_of(DEFINITION), shows)
    assert small == [{"kind": "Thing", "spec": {"name": "x", "rows": [{"a": "y"}]}}]


async def idle(_: Client) -> None:
    """An operator that does nothing."""
    await trio.sleep_forever()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("certificates", []), ("gateways", []), ("kafkas", []), ("nodepools", []),
        ("prometheuses", []), ("helmreleases", []), ("issuers", []), ("httproutes", []),
    ],
)  # fmt: skip
def test_definitions_are_covered(name: str, missing: list[str]) -> None:
    """By few states, that the server takes."""
    definition = next(yaml.safe_load_all((DEFINITIONS / f"{name}.yaml").read_text()))
    about = subject(definition)
    with open_ground(idle, before=about.before) as ground:
        done = covered(ground, about, definition)
        runs = ground.runs
    assert list(done.missing) == missing
    assert 1 < len(done.states) < 8
    assert runs <= MOST_MENDS + MOST_GRAFTS


def test_the_definition_of_the_page() -> None:
    """Its states differ in the number of books, from the least to the most."""
    about = subject(SHELF)
    with open_ground(idle, before=about.before) as ground:
        done = covered(ground, about, SHELF)
    assert done.missing == []
    assert sorted(one["spec"]["books"] for one in done.states) == [0, 1, 2, 3]
