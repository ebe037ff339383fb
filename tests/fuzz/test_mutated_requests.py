"""The fuzzer of requests: it repeats itself, tells what it finds, and finds nothing in a while."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from fuzz import corpus as corpora
from fuzz.areas import AREAS
from fuzz.comparing import Findings
from fuzz.mutated_requests import explore
from fuzz.mutations import Mutator, dumps, shallow
from fuzz.steps import Reply, Sequence, Step
from kubetrio.api import verbs
from kubetrio.env import seeded
from kubetrio.kinds.builtin import registry

CORPUS = corpora.corpus()
BY_NAME = {f"{r.group}/{r.version}/{r.resource}": r for r in CORPUS.bases}


def test_a_short_run_finds_nothing() -> None:
    """A few dozen objects of all kinds, and every request is answered."""
    findings = Findings(quiet=True)
    assert explore(1, 12, findings) > 200
    assert findings.told == {}


def test_a_bug_is_found_and_told_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The traceback, how to repeat it and the requests that led there; once for each place."""

    async def broken(*_: object) -> None:
        raise LookupError("bug")

    monkeypatch.setattr(verbs, "list_", broken)
    findings = Findings(quiet=True)
    explore(2, 3, findings)
    (key,) = (key for key in findings.told if key.startswith("LookupError "))
    text = findings.told[key]
    assert findings.seen[key] > 1
    assert "Traceback" in text
    assert "--seed 2 --iterations 1" in text
    assert "POST /" in text


def test_every_kind_that_can_be_made_has_objects_to_begin_with() -> None:
    """The fuzzer leaves out no resource that takes a body."""

    made = [r for r in registry().resources.values() if "create" in r.verbs]
    assert [r.resource for r in made if r not in CORPUS.bases] == []


def test_the_samples_of_validation_are_among_the_objects() -> None:
    """They were left out once, when their folder was moved."""
    assert sum(map(len, CORPUS.bases.values())) > 1000


def test_every_custom_resource_has_objects_to_begin_with() -> None:
    made = {(r.resource, r.version) for each in CORPUS.definitions for r in corpora.customs(each)}
    assert made == {(r.resource, r.version) for r in CORPUS.custom}


@pytest.mark.parametrize("name", sorted(AREAS))
def test_every_area_is_played_without_a_finding(name: str) -> None:
    findings = Findings(quiet=True)
    assert explore(5, 1, findings, (name,)) > len(CORPUS.manifests)
    assert findings.told == {}


async def sent(seed: int, name: str) -> list[Step]:
    steps: list[Step] = []

    async def send(step: Step) -> Reply:
        steps.append(step)
        await trio.lowlevel.checkpoint()
        return Reply(404, b"{}")

    resource = BY_NAME[name]
    mutator = Mutator(seeded(seed).rng, CORPUS)
    await Sequence(mutator, resource, CORPUS.bases[resource][0], send).run(30)
    return steps


@pytest.mark.parametrize(
    "name", ["/v1/pods", "apps/v1/deployments", "authorization.k8s.io/v1/subjectaccessreviews"]
)
async def test_a_seed_repeats_its_requests(name: str) -> None:
    """And another seed draws others."""
    assert await sent(1, name) == await sent(1, name) != await sent(2, name)


def test_a_change_leaves_the_value_alone() -> None:
    """Objects of the corpus are used again and again."""
    resource = BY_NAME["/v1/services"]
    mutator = Mutator(seeded(3).rng, CORPUS)
    base = CORPUS.bases[resource][0]
    before = dumps(base)
    changed = {dumps(mutator.mutated(base, {"$ref": resource.schema_name}, 3)) for _ in range(200)}
    assert dumps(base) == before
    assert len(changed) > 150


@pytest.mark.parametrize(("value", "answer"), [({"a": [1]}, True), ("x", True)])
def test_what_is_shallow(value: Any, answer: bool) -> None:
    """Changes call themselves; what is too deep for them is left."""
    assert shallow(value) is answer
    for _ in range(100):
        value = [value]
    assert not shallow(value)


def test_deep_values_are_written_in_full() -> None:
    """They are drawn as texts, because Python could not copy them."""
    assert dumps({"x": "@deep-3l@", "y": "@deep-2o@"}) == (
        b'{"x":[[["end"]]],"y":{"a":{"a":"end"}}}'
    )
