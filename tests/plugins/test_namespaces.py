"""Phases and policies of namespaces: remembered, never wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.plugins.namespaces import Namespaces
from kubetrio.plugins.podsecurity.policy import UNLABELLED
from kubetrio.resources.objects import Object, stamp
from kubetrio.store.model import KeyValue, RangeResult, Revision
from kubetrio.testing.store_model import MemoryStore

KEY = "/registry/namespaces/ns"


class CountingStore(MemoryStore):
    """Counts reads."""

    reads = 0

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """Count and read."""
        self.reads += 1
        return await super().get(key, at=at)

    async def range(self, *args: Any, **kwargs: Any) -> RangeResult:
        """Count and read."""
        self.reads += 1
        return await super().range(*args, **kwargs)


def namespace(**status: str) -> Object:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "ns"}, "status": status}


@pytest.fixture
def store() -> CountingStore:
    """An empty store."""
    return CountingStore()


async def test_an_unknown_namespace_is_none_and_not_remembered(store: CountingStore) -> None:
    """It may be made at any time."""
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    assert await namespaces.phase("ns") is None
    await store.create(KEY, stamp(namespace(phase="Active")))
    assert await namespaces.phase("ns") == "Active"


async def test_a_phase_is_read_once(store: CountingStore) -> None:
    """Every create asks for it."""
    await store.create(KEY, stamp(namespace(phase="Active")))
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    assert [await namespaces.phase("ns") for _ in range(3)] == ["Active"] * 3
    assert store.reads == 1


async def test_a_namespace_without_status_is_active(store: CountingStore) -> None:
    """Nothing says that it is going away."""
    await store.create(KEY, stamp(namespace()))
    assert await Namespaces(SharedInformerFactory(store), UNLABELLED).phase("ns") == "Active"


async def test_a_commit_forgets_the_phase(store: CountingStore) -> None:
    """The next question sees what was written, also a deletion."""
    made = await store.create(KEY, stamp(namespace(phase="Active")))
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    await namespaces.phase("ns")
    ending = stamp(namespace(phase="Terminating"))
    changed = await store.update(KEY, ending, expected=made.revision)
    assert await namespaces.phase("ns") == "Terminating"
    await store.delete(KEY, expected=changed.revision)
    assert await namespaces.phase("ns") is None


async def test_other_commits_forget_nothing(store: CountingStore) -> None:
    """Only namespaces are namespaces."""
    await store.create(KEY, stamp(namespace(phase="Active")))
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    await namespaces.phase("ns")
    await store.create("/registry/pods/ns/ns", stamp(namespace()))
    await namespaces.phase("ns")
    assert store.reads == 1


async def test_a_policy_is_remembered_with_the_phase(store: CountingStore) -> None:
    """Every pod asks for it; a commit forgets it, too."""
    labelled = namespace(phase="Active")
    labelled["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "baseline"}
    made = await store.create(KEY, stamp(labelled))
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    policy = await namespaces.policy("ns")
    assert policy is not None
    assert str(policy.enforce) == "baseline:latest"
    assert await namespaces.policy("ns") is policy
    assert await namespaces.phase("ns") == "Active"
    assert store.reads == 1
    await store.update(KEY, stamp(namespace(phase="Active")), expected=made.revision)
    assert await namespaces.policy("ns") is UNLABELLED
    assert await namespaces.policy("other") is None


class LateStore(CountingStore):
    """Announces nothing: reads are ahead of its revision."""

    @property
    def revision(self) -> Revision:
        """What was announced."""
        return 0

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """Count, and read what is stored already."""
        self.reads += 1
        return KeyValue(key, stamp(namespace(phase="Active")).at(1), 1, 1)


async def test_what_is_ahead_of_the_commit_stream_is_not_remembered() -> None:
    """A state that was not announced yet could be stale when its successor was."""
    store = LateStore()
    namespaces = Namespaces(SharedInformerFactory(store), UNLABELLED)
    assert [await namespaces.phase("ns") for _ in range(2)] == ["Active"] * 2
    assert store.reads == 3  # the list, and one for each question
