"""What is said of definitions that are refused, as a kube-apiserver 1.36 recorded it.

``definitionmessages.json`` has a good definition, changes of it by path, and the causes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.structural.schemapaths import NoField, find_field
from kubetrio.testing.client import Client

Json = dict[str, Any]
RECORDED = json.loads(Path(__file__).with_name("definitionmessages.json").read_bytes())
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COMPILED = "compilation failed: "


def changed(changes: Json) -> Json:
    """The good definition with values at paths."""
    found = deepcopy(RECORDED["base"])
    for path, value in changes.items():
        place: Any = found
        *above, last = path.split(".")
        for step in above:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        place[last] = value
    return found


def told(causes: Sequence[Json]) -> list[list[str]]:
    """Causes as they were recorded: what the compiler of expressions says is left out."""
    shown = []
    for cause in causes:
        before, compiled, _ = cause["message"].partition(COMPILED)
        message = f"{before}{compiled}..." if compiled else before
        shown.append([cause["reason"], cause["field"], message])
    return sorted(shown)


@pytest.mark.skipif(not available(), reason="needs the extra cel")
async def test_the_recorded_causes_are_told(client: Client) -> None:
    for case in RECORDED["cases"]:
        path = f"{DEFINITIONS}?dryRun=All"
        answer = await client.request("POST", path, json=changed(case["change"]))
        assert answer.status == case["code"], case["name"]
        if case["code"] == 201:
            continue
        status = answer.json()
        assert told((status.get("details") or {}).get("causes") or ()) == case["causes"], case
        if not case["causes"]:
            assert status["message"] == case["message"]


async def test_stored_versions_that_are_taken_away_come_back(client: Client) -> None:
    answer = await client.request("POST", DEFINITIONS, json=RECORDED["base"])
    assert answer.json()["status"]["storedVersions"] == ["v1"]
    path = f"{DEFINITIONS}/{RECORDED['base']['metadata']['name']}"
    merge = {"Content-Type": "application/merge-patch+json"}
    for none in (None, []):
        answer = await client.request(
            "PATCH", f"{path}/status", json={"status": {"storedVersions": none}}, headers=merge
        )
        assert answer.json()["status"]["storedVersions"] == ["v1"]


async def test_an_empty_conversion_webhook_is_none(client: Client) -> None:
    conversion = {"strategy": "None", "webhook": {}}
    body = changed({"spec.conversion": conversion})
    answer = await client.request("POST", DEFINITIONS, json=body)
    assert answer.json()["spec"]["conversion"] == {"strategy": "None"}


SCHEMA = {
    "properties": {
        "a": {"type": "string"},
        "x.y": {"properties": {"b": {}}},
        "m": {"additionalProperties": {"properties": {"c": {}}}},
        "any": {"additionalProperties": True},
    }
}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".a", "a"),
        ("['a']", "a"),
        ("['x.y'].b", "x.y.b"),
        (".m['p.q'].c", "m[p.q].c"),
        (".m.p.c", "m[p].c"),
        (".any.x", "any[x]"),
    ],
)
def test_paths_point_to_parts_of_schemas(path: str, shown: str) -> None:
    assert find_field(SCHEMA, path).path == shown


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".", "unexpected end of JSON path"),
        (".a.", "unexpected end of JSON path"),
        ("a", "expected [ or . but got: a"),
        ("..a", "does not refer to a valid field"),
        (".m[c]", "expected single quoted string but got c"),
        (".m['c'", "unexpected end of JSON path"),
        (".m['c'.c", "expected ] but got ."),
        (".m['c", "expected single quoted string but got 'c"),
        (r".m['\q']", r"invalid string literal: invalid escape char \q"),
        (r".m['it\'s", r"expected single quoted string but got 'it\'s"),
    ],
)
def test_paths_that_point_nowhere_say_why(path: str, why: str) -> None:
    with pytest.raises(NoField, match=f"^{re.escape(why)}$"):
        find_field(SCHEMA, path)
