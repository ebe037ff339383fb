"""What followers of the commit stream missed because they raised: they are told again later.

A commit is announced to many.  One that raises must cost itself alone, so its caller catches
what it raises and notes of which key it was.  What came of that key by then is told again after a
pause that grows; a change that comes before is told as one from the state that was told last.

Prior art: client-go's reflectors list again after an error, its handlers' panics end the process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NoReturn

import trio

from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.store.errors import StoreError

log = Log("kubetrio.informers")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


class Listener(ABC):
    """Who is told of changes.

    Args:
        collection: the folder or key that it follows, for logs and metrics.
    """

    def __init__(self, collection: str) -> None:
        self.collection = collection

    @property
    @abstractmethod
    def behind(self) -> bool:
        """Whether something is to be told again."""

    @abstractmethod
    async def catch_up(self) -> None:
        """Tell again what was missed; what fails once more stays missed.

        Raises:
            StoreError: the present state cannot be read.
        """


class Redelivery:
    """The listeners of one server that missed something.

    Attributes:
        failures: exceptions of listeners, by what they follow.
    """

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self._behind: dict[Listener, None] = {}
        self._news = trio.Event()

    def failed(self, listener: Listener, error: Exception, key: str) -> None:
        """Note that a listener raised; the log has the first of its exceptions whole.

        Args:
            listener: who raised, and notes itself what it missed.
            error: what.
            key: of the object that it was told of.
        """
        self.failures[listener.collection] += 1
        if listener not in self._behind:
            self._behind[listener] = None
            log.error(
                error, "a follower of changes failed, and is told again", stack=True,
                follows=listener.collection, key=key,
            )  # fmt: skip
            self._news.set()

    async def run(self) -> NoReturn:
        """Tell again what was missed, until cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            if not self._behind:
                pause = FIRST_PAUSE_S
                self._news = trio.Event()
                await self._news.wait()
            await trio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
            for listener in tuple(self._behind):
                await self._catch_up(listener)

    async def _catch_up(self, listener: Listener) -> None:
        try:
            await listener.catch_up()
        except StoreError as error:
            log.warning("cannot list again", follows=listener.collection, error=str(error))
            return
        if not listener.behind:
            del self._behind[listener]
            log.info("a follower of changes was told what it missed", follows=listener.collection)

    def families(self, others: Mapping[str, int]) -> Iterable[prometheus.Metric]:
        """How often followers raised.

        Args:
            others: counts of those that are not told by this.
        """
        family = prometheus.CounterMetricFamily(
            "kubetrio_follower_failures_total",
            "Exceptions of what follows the commit stream.",
            labels=("follows",),
        )
        for follows, count in sorted((*self.failures.items(), *others.items())):
            family.add_metric([follows], float(count))
        return (family,)
