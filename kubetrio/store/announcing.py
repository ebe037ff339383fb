"""Tells listeners of commits, each for itself: one that fails costs no other."""

from __future__ import annotations

from collections.abc import Sequence

from kubetrio.observe.logs import Log
from kubetrio.store.model import CommitHook, Event

log = Log("kubetrio.store")


class CommitHooks:
    """The listeners of an engine's commit stream.

    A listener catches what the code that it calls raises; what it raises itself is a bug in it.
    The writers, whose commit is durable, get their answers all the same.

    Attributes:
        failures: exceptions of listeners.
    """

    def __init__(self) -> None:
        self._hooks: list[CommitHook] = []
        self.failures = 0

    def add(self, hook: CommitHook) -> None:
        """Tell one more listener, behind the others."""
        self._hooks.append(hook)

    def tell(self, events: Sequence[Event]) -> None:
        """Tell all of a commit; never raises an `Exception`."""
        for hook in self._hooks:
            try:
                hook(events)
            except Exception as error:  # noqa: BLE001  (logged; the store must go on)
                self.failures += 1
                log.error(
                    error, "a listener of the commit stream failed", stack=True,
                    revision=events[-1].revision,
                )  # fmt: skip
