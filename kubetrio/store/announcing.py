"""Tells listeners of commits and gaps, each for itself: one that fails costs no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from kubetrio.observe.logs import Log
from kubetrio.store.model import CommitHook, Event, Gap, GapHook, Revision

T = TypeVar("T")

log = Log("kubetrio.store")


class CommitHooks:
    """The listeners of an engine's commit stream, and of gaps in it.

    A listener catches what the code that it calls raises; what it raises itself is a bug in it.
    The writers, whose commit is durable, get their answers all the same.

    Attributes:
        failures: exceptions of listeners.
    """

    def __init__(self) -> None:
        self._hooks: list[CommitHook] = []
        self._gap_hooks: list[GapHook] = []
        self.failures = 0

    def add(self, hook: CommitHook) -> None:
        """Tell one more listener, behind the others."""
        self._hooks.append(hook)

    def add_gap(self, hook: GapHook) -> None:
        """Tell one more listener of gaps, behind the others."""
        self._gap_hooks.append(hook)

    def clear(self) -> None:
        """Tell no listener any more."""
        self._hooks.clear()
        self._gap_hooks.clear()

    def tell(self, events: Sequence[Event]) -> None:
        """Tell all of a commit; never raises an `Exception`."""
        self._tell(self._hooks, events, events[-1].revision)

    def tell_gap(self, gap: Gap) -> None:
        """Tell all of a gap; never raises an `Exception`."""
        self._tell(self._gap_hooks, gap, gap.revision)

    def _tell(self, hooks: Sequence[Callable[[T], None]], told: T, revision: Revision) -> None:
        for hook in hooks:
            try:
                hook(told)
            except Exception as error:  # noqa: BLE001  (logged; the store must go on)
                self.failures += 1
                with suppress(MemoryError):  # the next listener has to be told
                    log.error(
                        error,
                        "a listener of the commit stream failed",
                        stack=True,
                        revision=revision,
                    )
