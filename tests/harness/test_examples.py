"""The small objects are valid, and there is one of every kind."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from kubetrio.harness import Setup, examples, open_harness, record
from kubetrio.harness.strategies import path_of

NOT_STORED = frozenset({"Binding", "LocalSubjectAccessReview"})


async def test_a_server_takes_each(autojump_clock: MockClock) -> None:
    """With field validation, so that no member is unknown or twice."""
    async with open_harness(Setup(seed=1)) as server, record(server) as session:
        for kind in examples.kinds():
            path = f"{path_of(kind)}?dryRun=All&fieldValidation=Strict"
            reply = await session.request("POST", path, examples.example(kind))
            assert reply.status == 201, (kind, reply.body)
        served = {
            examples.named(kind)
            for kind in server.api.storage.registry.resources.values()
            if "create" in kind.verbs and "get" in kind.verbs
        }
        assert served - set(examples.kinds()) == set()


def test_an_example_is_a_copy() -> None:
    """Changing it changes no other."""
    examples.example("v1 Pod")["metadata"]["name"] = "changed"
    assert examples.example("v1 Pod")["metadata"]["name"] != "changed"
    with pytest.raises(KeyError):
        examples.example("v1 Nothing")
