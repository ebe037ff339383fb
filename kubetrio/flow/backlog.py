"""The queues of a priority level that hold requests, and whose turn is next.  Pure.

What the order is, and why, is told in ``queueset``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from kubetrio.flow.report import QueueStatistics, RequestStatistics
from kubetrio.flow.seats import GUESSED_SERVICE_TICKS
from kubetrio.flow.ticket import Queue, Ticket

SHOWN_QUEUES = 1000
"""Up to so many queues, unused ones have rows too."""
FLOW = attrgetter("flow.schema", "flow.distinguisher")


class Backlog:
    """The queues in use.

    Attributes:
        used: queues with a request waiting, executing or lingering, by index.
        waiting_in: those with a request waiting.
        active: number of queues with a request waiting or executing.
        waiting: number of requests waiting.
        seats: what these will take.
    """

    __slots__ = ("active", "seats", "used", "waiting", "waiting_in")

    def __init__(self) -> None:
        self.used: dict[int, Queue] = {}
        self.waiting_in: dict[int, Queue] = {}
        self.active = 0
        self.waiting = 0
        self.seats = 0

    def choose(self, hand: Sequence[int], turn: int) -> Queue:
        """The queue of a flow's hand with the least work waiting.

        Args:
            hand: indexes of queues.
            turn: a number that grows: the hand is looked through from a place that rotates, or
                flows with overlapping hands would prefer the same of several empty queues.
        """
        first = turn % len(hand)
        best, least = hand[first], -1
        if self.waiting:
            for card in (*hand[first:], *hand[:first]):
                queue = self.waiting_in.get(card)
                if queue is None:
                    best = card
                    break
                if least < 0 or queue.work < least:
                    best, least = card, queue.work
        return self.used.get(best) or Queue(best)

    def activate(self, queue: Queue, r: int) -> None:
        """Prepare a queue for one more request, at a reading of the progress meter."""
        if not (queue.executing or queue.head):
            self.used[queue.index] = queue
            self.active += 1
            queue.base = r

    def append(self, queue: Queue, ticket: Ticket, r: int, now: int) -> None:
        """Let a request wait in a queue.

        Args:
            queue: where.
            ticket: the request.
            r: reading of the progress meter.
            now: in ticks.
        """
        self.activate(queue, r)
        if queue.head is None:
            queue.raise_to(r, now)
        queue.append(ticket)
        self.waiting_in[queue.index] = queue
        self.waiting += 1
        self.seats += ticket.seats
        ticket.queue_length = len(queue.waiting)
        ticket.counts.waiting_requests += 1
        ticket.counts.waiting_seats += ticket.seats

    def remove(self, queue: Queue, ticket: Ticket) -> None:
        """Take a waiting request out of its queue."""
        queue.remove(ticket)
        if queue.head is None:
            del self.waiting_in[queue.index]
        self.waiting -= 1
        self.seats -= ticket.seats
        ticket.counts.waiting_requests -= 1
        ticket.counts.waiting_seats -= ticket.seats

    def next(self, now: int) -> tuple[Ticket, int]:
        """The waiting request that the fluid server would finish first, and the least start."""
        best: Ticket | None = None
        earliest = least_start = 0
        for queue in self.waiting_in.values():
            head = queue.head
            assert head is not None  # noqa: S101  (a queue with requests waiting has one)
            start = queue.base + queue.flying * now
            end = start + head.work
            if best is None:
                best, earliest, least_start = head, end, start
                continue
            if start < least_start:
                least_start = start
            if end < earliest or (end == earliest and head.serial < best.serial):
                best, earliest = head, end
        assert best is not None  # noqa: S101  (the caller checked that something waits)
        return best, least_start

    def settle(self, queue: Queue) -> None:
        """Note that a queue may have become inactive."""
        if not (queue.executing or queue.head):
            self.active -= 1
            if not queue.seats_in_use:
                del self.used[queue.index]

    def release(self, queue: Queue, seats: int) -> None:
        """Note that seats of a queue are free again."""
        queue.seats_in_use -= seats
        if not (queue.seats_in_use or queue.head or queue.executing):
            del self.used[queue.index]

    def forget(self, ticket: Ticket) -> None:
        """Take a request out wherever it stands; the numbers are wrong until `count_anew`."""
        for queue in (*self.used.values(), *self.waiting_in.values()):
            queue.waiting.pop(ticket, None)

    def count_anew(
        self, executing: Sequence[Ticket], lingering: Sequence[Ticket], now: int
    ) -> None:
        """Work all numbers out from the requests.

        Args:
            executing: requests that execute.
            lingering: requests that hold their final seats.
            now: in ticks.
        """
        queues = [*self.used.values(), *self.waiting_in.values()]
        queues += [ticket.queue for ticket in (*executing, *lingering) if ticket.queue is not None]
        queues = list(dict.fromkeys(queues))
        for queue in queues:
            queue.count_anew(
                [ticket for ticket in executing if ticket.queue is queue],
                [ticket for ticket in lingering if ticket.queue is queue],
                now,
            )
        self.waiting_in = {queue.index: queue for queue in queues if queue.head}
        busy = [queue for queue in queues if queue.head or queue.executing]
        self.active = len(busy)
        self.used = {queue.index: queue for queue in queues if queue in busy or queue.seats_in_use}
        self.waiting = sum(len(queue.waiting) for queue in queues)
        self.seats = sum(queue.seats_waiting for queue in queues)

    def starts(self, now: int) -> list[int]:
        """Virtual starts of the queues in which requests wait."""
        return [queue.start_r(now) for queue in self.waiting_in.values()]

    def discounted_starts(self, now: int) -> list[int]:
        """Virtual starts without the guessed work in progress."""
        return [
            queue.start_r(now) - queue.seats_in_use * GUESSED_SERVICE_TICKS
            for queue in self.waiting_in.values()
        ]

    def rows(self, size: int, now: int) -> tuple[QueueStatistics, ...]:
        """One row for each queue, in order, those of the configuration and those still in use.

        Of a configuration with more than `SHOWN_QUEUES`, those in use only: each of the others
        would be a row of zeros, ten million at the most.

        Args:
            size: queues of the configuration.
            now: in ticks.
        """
        return tuple(
            QueueStatistics(index=index) if queue is None else queue.row(now)
            for index in sorted({*range(size if size <= SHOWN_QUEUES else 0), *self.used})
            for queue in (self.used.get(index),)
        )

    def counts(self) -> list[tuple[int, int, int]]:
        """Index, requests waiting and requests executing of each queue that has some, in order."""
        return [
            (index, len(queue.waiting), queue.executing)
            for index, queue in sorted(self.used.items())
            if queue.head or queue.executing
        ]

    def requests(self) -> list[RequestStatistics]:
        """One row for each request waiting."""
        return [
            ticket.row(position)
            for queue in self.waiting_in.values()
            for position, ticket in enumerate(queue.waiting)
        ]

    def flows(self) -> Counter[tuple[str, str]]:
        """Requests waiting by schema and distinguisher; quick where many wait."""
        counts: Counter[tuple[str, str]] = Counter()
        for queue in self.waiting_in.values():
            counts.update(map(FLOW, queue.waiting))
        return counts

    def oldest(self) -> int | None:
        """When the request arrived that has waited longest, in ticks."""
        heads = [q.head.arrived for q in self.waiting_in.values() if q.head is not None]
        return min(heads, default=None)
