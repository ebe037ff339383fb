"""Counts of what lists read and watches sent."""

from __future__ import annotations

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupResource
from kubetrio.resources.readcounts import MOST_UNTOLD, Frames, ReadCounts, Sent

PODS = registry().resources["", "v1", "pods"]


def test_a_batch_counts_for_each_watcher() -> None:
    """Its events are added up once, by the number of watchers that got them."""
    sent = Sent()
    frames = Frames(b"", [100, 2000])
    for _ in range(3):
        sent.sent(frames)
    assert sum(sent.sizes.counts) == 6
    sent.sent(frames)
    sent.alone([5])
    assert sum(sent.sizes.counts) == 9


def test_batches_are_held_for_a_while_only() -> None:
    """Without a scrape too."""
    sent, batches = Sent(), [Frames(b"", [1]) for _ in range(MOST_UNTOLD + 1)]
    for frames in batches:
        sent.sent(frames)
    assert batches[0].times == 0  # added up
    assert sum(sent.sizes.counts) == len(batches)


def test_a_scrape_has_lists_and_events() -> None:
    """By resource, and events by version too."""
    counts = ReadCounts()
    reads = counts.lists(GroupResource("", "pods"))
    reads.lists += 1
    reads.read(fetched=5, returned=2)
    counts.sent(PODS).alone([10])
    assert counts.sent(PODS) is counts.sent(PODS)
    rows = {row.name: row.value for family in counts.families() for row in family.samples}
    assert rows["apiserver_storage_list_total"] == 1
    assert rows["apiserver_storage_list_fetched_objects_total"] == 5
    assert rows["apiserver_storage_list_evaluated_objects_total"] == 5
    assert rows["apiserver_storage_list_returned_objects_total"] == 2
    assert rows["apiserver_watch_events_total"] == 1
