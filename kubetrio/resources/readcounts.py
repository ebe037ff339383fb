"""What lists read and watches sent, as metrics of one server.

A sent event is counted for each watcher, and watchers share bytes: what a batch came to is noted
once, with the number of watchers that got it, and added up on a scrape or when some batches
have come together.

Source: k8s.io/apiserver/pkg/endpoints/metrics (``apiserver_watch_events_*``) and
pkg/storage/etcd3/metrics (``apiserver_storage_list_*``) for names, labels and buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubetrio.machinery.names import GroupResource
from kubetrio.observe import prometheus
from kubetrio.observe.series import Histogram, Labels, Timings, counter, exponential, histograms
from kubetrio.schema.kind import Kind

SIZES = exponential(1024.0, 2.0, 8)
WATCH_LIST_S = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60)
MOST_UNTOLD = 64  # batches that are added up together


class Frames:
    """What watchers that see the same get of a batch.

    Attributes:
        wire: the events as they are sent.
        sizes: bytes of each of them, before framing.
        times: watchers that got them and are not counted yet.
    """

    __slots__ = ("sizes", "times", "wire")

    def __init__(self, wire: bytes, sizes: list[int]) -> None:
        self.wire = wire
        self.sizes = sizes
        self.times = 0


class Sent:
    """Events that watchers of one kind in one version got."""

    __slots__ = ("_sizes", "_untold")

    def __init__(self) -> None:
        self._sizes = Histogram(SIZES)
        self._untold: list[Frames] = []

    def sent(self, frames: Frames) -> None:
        """Count the events of a batch for one more watcher."""
        if not frames.times:
            if len(self._untold) == MOST_UNTOLD:
                self._add_up()
            self._untold.append(frames)
        frames.times += 1

    def alone(self, sizes: Sequence[int]) -> None:
        """Count events that one watcher gets, such as the state that it begins with."""
        self._sizes.observe_all(sizes)

    def _add_up(self) -> None:
        for frames in self._untold:
            self._sizes.observe_all(frames.sizes, frames.times)
            frames.times = 0
        self._untold.clear()

    @property
    def sizes(self) -> Histogram:
        """Bytes of all events so far."""
        self._add_up()
        return self._sizes


class ListReads:
    """Lists of one resource.

    Attributes:
        lists: that began.
        fetched: objects that were read for them.
        evaluated: of them, those that selectors were asked about, or that needed none.
        returned: objects that they contained.
    """

    __slots__ = ("evaluated", "fetched", "lists", "returned")

    def __init__(self) -> None:
        self.lists = self.fetched = self.evaluated = self.returned = 0

    def read(self, fetched: int, returned: int) -> None:
        """Count some objects of a list."""
        self.fetched += fetched
        self.evaluated += fetched
        self.returned += returned


class ReadCounts:
    """Counts of one server.

    Attributes:
        watch_lists: how long it took to send states, by group, version, resource and scope.
    """

    def __init__(self) -> None:
        self._lists: dict[GroupResource, ListReads] = {}
        self._sent: dict[tuple[str, str, str], Sent] = {}
        self.watch_lists = Timings(
            "apiserver_watch_list_duration_seconds",
            "Seconds until the state that a watch begins with was sent.",
            "group", "version", "resource", "scope",
            bounds=WATCH_LIST_S,
        )  # fmt: skip

    def lists(self, resource: GroupResource) -> ListReads:
        """Where lists of a resource are counted."""
        reads = self._lists.get(resource)
        if reads is None:
            reads = self._lists[resource] = ListReads()
        return reads

    def sent(self, kind: Kind) -> Sent:
        """Where events of a kind are counted."""
        labels = kind.group, kind.resource, kind.version
        events = self._sent.get(labels)
        if events is None:
            events = self._sent[labels] = Sent()
        return events

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        reads = [(tuple(which), one) for which, one in self._lists.items()]
        labels: Labels = ("group", "resource")
        for name, text, column in (
            ("total", "Lists that were read from the store.", "lists"),
            ("fetched_objects_total", "Objects read for lists.", "fetched"),
            ("evaluated_objects_total", "Objects that lists looked at.", "evaluated"),
            ("returned_objects_total", "Objects that lists contained.", "returned"),
        ):
            rows: dict[Labels, float] = {which: getattr(one, column) for which, one in reads}
            yield from counter(f"apiserver_storage_list_{name}", text, labels, rows)
        sizes: dict[Labels, Histogram] = {which: one.sizes for which, one in self._sent.items()}
        labels = ("group", "resource", "version")
        counts: dict[Labels, float] = {which: sum(row.counts) for which, row in sizes.items()}
        text = "Events that watchers got."
        yield from counter("apiserver_watch_events_total", text, labels, counts)
        yield from histograms(
            "apiserver_watch_events_sizes", "Bytes of events that watchers got.", labels, sizes
        )
        yield from self.watch_lists.families()
