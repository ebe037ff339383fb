"""A server is asked for its facts, with the scripts that made ``schemas``.

The server is one of this project, so the answers are also held against ``schemas``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from facts.documents import load
from facts.server import samples
from kubetrio.schema import builtin

if TYPE_CHECKING:
    from conftest import Asked

pytestmark = pytest.mark.e2e

CLIENT_CERTIFICATES = "ConfigMap kube-system/extension-apiserver-authentication"
"""Made by servers that check certificates of clients; the facts are of one that did not."""


def test_every_input_is_made(asked: Asked) -> None:
    """In this order: the objects of a fresh server come before anything is written."""
    assert asked.names == [
        "version", "bootstrap", "aggregated-roles", "resources", "types", "operations", "tables",
        "field-selectors", "names", "defaults", "metrics", "behaviours",
    ]  # fmt: skip
    assert [name for name in asked.names if not load(asked.inputs, name)] == []


def test_nothing_of_the_dry_runs_stays(asked: Asked) -> None:
    """The service account that Pods need is deleted."""
    assert asked.left == []


@pytest.mark.parametrize("name", ["tables", "field-selectors", "names"])
def test_answers_are_the_facts(asked: Asked, name: str) -> None:
    """What is served is what the data files say."""
    assert load(asked.inputs, name) == builtin.load(name)


@pytest.mark.parametrize("member", ["groupOrder", "legacyGroups", "resources"])
def test_discovery_is_the_facts(asked: Asked, member: str) -> None:
    """Kinds, scopes, verbs and the order of groups."""
    assert load(asked.inputs, "resources")[member] == builtin.load("resources")[member]


def test_types_are_the_facts(asked: Asked) -> None:
    """Every type of every document, without the words."""
    types = load(asked.inputs, "types")
    wrong = [name for name, schema in types.items() if schema != builtin.type_schema(name)]
    assert wrong == []


def test_operations_are_the_facts(asked: Asked) -> None:
    """Ids, actions, parameters, codes and media types."""
    known: dict[str, Any] = {}
    for path in (builtin.folder() / "operations").glob("*.json"):
        known |= builtin.load(f"operations/{path.stem}")
    served = load(asked.inputs, "operations")
    assert [path for path in served if served[path] != known.get(path)] == []


def test_the_server_s_own_objects_are_the_facts(asked: Asked) -> None:
    """But for what the published authorities say, with what roles gather from others."""
    found, known = load(asked.inputs, "bootstrap"), dict(builtin.load("bootstrap"))
    gathered = builtin.load("aggregated-roles")
    assert load(asked.inputs, "aggregated-roles") == gathered
    for name, rules in gathered.items():
        known[f"ClusterRole {name}"] = {**known[f"ClusterRole {name}"], "rules": rules}
    assert {key: obj for key, obj in found.items() if key != CLIENT_CERTIFICATES} == known


def test_samples_are_objects_of_their_paths() -> None:
    """And hold no placeholders."""
    for label, sample in samples().items():
        assert sample["path"].startswith(("/api/v1/", "/apis/")), label
        assert {"apiVersion", "kind"} <= sample["object"].keys(), label
        assert "<" not in str(sample["object"]), label
