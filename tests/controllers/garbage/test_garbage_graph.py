"""The graph of owners: whom it remembers, and who is let go when."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.garbage.graph import Graph, Ref, others, references

Owners = Sequence[tuple[int, bool]]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=4),  # some of them twice
    ),
    max_size=30,
)


def named(owners: Owners) -> tuple[Ref, ...]:
    """References to owners, and whether they wait."""
    return tuple(Ref(f"u{n}", "v1", "Thing", f"n{n}", blocks) for n, blocks in owners)


@given(STEPS)
def test_it_holds_what_was_linked_last(steps: list[tuple[int, Owners]]) -> None:
    """Dependents and blockers of each owner, and nothing else."""
    graph, expected = Graph(), dict[str, tuple[Ref, ...]]()
    for number, owners in steps:
        key, refs = f"/k/{number}", named(owners)
        expected.pop(key, None)
        if refs:
            expected[key] = refs
        graph.link(key, refs)
        assert graph.refs == expected
        for uid in {ref.uid for refs in expected.values() for ref in refs} | graph.owners.keys():
            below = {key for key, refs in expected.items() if any(r.uid == uid for r in refs)}
            assert set(graph.dependents(uid)) == below
            blocking = [
                key for key in below if any(r.uid == uid and r.blocks for r in expected[key])
            ]
            assert graph.owners[uid].blockers == len(blocking)


@given(STEPS)
def test_who_waits_is_told_once_nothing_blocks(
    steps: list[tuple[int, Owners]],
) -> None:
    """When the last reference goes or blocks no more; and never before."""
    graph = Graph()
    for number, owners in steps:
        before = {uid for uid, owner in graph.owners.items() if owner.blockers}
        released = graph.link(f"/k/{number}", named(owners))
        after = {uid for uid, owner in graph.owners.items() if owner.blockers}
        assert {f"/place/{uid}" for uid in before - after} == set(released)
        for uid in graph.owners:
            graph.seen(uid, f"/place/{uid}", waits=True)


def test_what_waits_for_each_other_is_found() -> None:
    """Over any number of steps, and nothing beside it."""
    graph = Graph()
    ring = [f"/k/{n}" for n in range(5)]
    for number, key in enumerate(ring):
        graph.link(key, named([((number + 1) % 5, True)]))
    graph.link("/k/9", named([(0, True)]))
    for number, key in enumerate(ring):
        graph.seen(f"u{number}", key, waits=True)
        graph.foreground[key] = f"u{number}"
    assert graph.circle("u0", "/k/0") == ["/k/4"]
    graph.link("/k/2", named([(3, False)]))
    assert graph.circle("u0", "/k/0") == []


def test_an_object_does_not_wait_for_itself() -> None:
    """But it is its owner."""
    own = {"apiVersion": "v1", "kind": "Thing", "name": "n", "uid": "u", "blockOwnerDeletion": True}
    meta = {"name": "n", "uid": "u", "ownerReferences": [own]}
    assert references(meta) == (Ref("u", "v1", "Thing", "n", True),)
    assert others(meta, references(meta)) == ()


def test_it_is_small() -> None:
    """Ten thousand objects with an owner each take less than ten megabytes."""
    tracemalloc.start()
    try:
        graph = Graph()
        for number in range(10_000):
            meta = {
                "name": f"a-name-of-usual-length-{number}",
                "uid": f"00000000-0000-0000-0000-{number:012}",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1", "kind": "ReplicaSet",
                        "name": f"a-name-of-usual-length-{number // 2}",
                        "uid": f"00000000-0000-0000-1111-{number // 2:012}",
                    }
                ],
            }  # fmt: skip
            graph.link(f"/registry/pods/some-namespace/{meta['name']}", references(meta))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 10e6
