"""What is remembered of requests: their class, headers of their answers, and their counters."""

from __future__ import annotations

from dataclasses import dataclass

from kubetrio.flow.classify import Classified, RequestDigest
from kubetrio.flow.config import EXEMPT
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.observe import Histogram, SchemaHistograms

_REMEMBERED = 4096
_REMEMBERED_CHARS = 512  # of what a client says: it may ask for anything


@dataclass(slots=True, eq=False)
class Entry:
    """What all requests of equal user, verb and target have in common.

    Args:
        classified: their class.
        headers: of their answers.
        histograms: where they are counted.
        mutating: which kind they are counted as.
        lasted: where the time that they take is counted.
        exempt: whether they are of the exempt level.
        about: what the owner keeps for them.
        count: requests without tickets since numbers were last handed on.
        busy: seconds that the light ones among them took.
    """

    classified: Classified
    headers: tuple[tuple[bytes, bytes], ...]
    histograms: SchemaHistograms
    mutating: bool
    lasted: Histogram
    exempt: bool
    about: object = None
    count: int = 0
    busy: float = 0.0

    def observe(self, times: int, queue_length: int) -> None:
        """Count requests that waited for nothing and took one seat."""
        histograms = self.histograms
        histograms.waited.observe(0.0, times)
        histograms.seats.observe(1, times)
        if queue_length:
            histograms.queued.observe(queue_length, times)


class Entries(dict[tuple[object, ...], Entry]):
    """Entries by what requests have in common; forgotten when the configuration changes.

    Args:
        dispatcher: classifies.

    Attributes:
        histograms: counters by FlowSchema and priority level, kept for good.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self.histograms: dict[tuple[str, str], SchemaHistograms] = {}

    def remember(
        self, key: tuple[object, ...], digest: RequestDigest, about: object = None
    ) -> Entry:
        """Classify a request and remember the answer for its like.

        Args:
            key: equal for requests of equal user, groups, verb, resource and namespace, or path.
            digest: one of them.
            about: kept in the entry.
        """
        classified = self._dispatcher.classify(digest)
        names = (classified.flow.schema, classified.level)
        histograms = self.histograms.get(names) or self.histograms.setdefault(
            names, SchemaHistograms()
        )
        watches = digest.verb == "watch" and digest.is_resource
        entry = Entry(
            classified,
            (
                (b"X-Kubernetes-PF-FlowSchema-UID", classified.schema_uid.encode()),
                (b"X-Kubernetes-PF-PriorityLevel-UID", classified.level_uid.encode()),
            ),
            histograms,
            digest.mutating,
            histograms.watched if watches else histograms.executed,
            classified.level == EXEMPT,
            about,
        )
        if sum(len(text) for text in digest if isinstance(text, str)) <= _REMEMBERED_CHARS:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[key] = entry
        return entry
