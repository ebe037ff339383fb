"""A server on an engine that is behind, with a second writer behind its back."""

import pytest

from fuzz import lagging_engine
from kubetrio.server import composition
from kubetrio.store.model import Store


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_stale_read_and_no_false_conflict(autojump_clock: object, seed: int) -> None:
    outcome = await lagging_engine.run(seed, 150)
    assert outcome.problems == []
    assert outcome.behind > 100
    assert outcome.tried["watch: events"] > 100


async def test_without_the_barrier_it_would_be_seen(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_it_is(store: Store) -> Store:
        return store

    monkeypatch.setattr(composition, "consistent", as_it_is)
    assert (await lagging_engine.run(1, 50)).problems
