"""Selectors of watches: equal ones are one value, and long ones are counted against their user.

A selector stays in memory for as long as its watch does, and looks at each event.  A parsed one
takes some fifteen times its text, and one of a thousand requirements 0.1 ms for an event.  So what
equal watches select is shared, and a user may have so much text of long ones only.
"""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import replace

from kubetrio.api.request import Request
from kubetrio.machinery.status import too_many_requests
from kubetrio.resources.selection import Selection
from kubetrio.resources.watching import WatchOptions
from kubetrio.schema.kind import Kind

LONG_CHARS = 1024
PER_USER_CHARS = 128 * 1024
ALL_CHARS = 512 * 1024
TOO_LONG = "too many watches with long selectors, please end some of them"
RETRY_S = 1


class _Held:
    """A selection for as long as a watch refers to it."""

    __slots__ = ("__weakref__", "selection")

    def __init__(self, selection: Selection) -> None:
        self.selection = selection


class Charge:
    """A long selector that is counted against a user as long as a watch refers to this."""

    __slots__ = ("__weakref__", "_chars", "_spent", "_user")

    def __init__(self, spent: Counter[str], user: str, chars: int) -> None:
        self._spent, self._user, self._chars = spent, user, chars
        spent[user] += chars

    def __del__(self) -> None:
        self._spent[self._user] -= self._chars
        if not self._spent[self._user]:
            del self._spent[self._user]


class LongSelectors:
    """Selectors of the open watches of one server."""

    def __init__(self) -> None:
        self._shared: weakref.WeakValueDictionary[tuple[Kind, str, str], _Held] = (
            weakref.WeakValueDictionary()
        )
        self._charges: weakref.WeakValueDictionary[tuple[str, Kind, str, str], Charge] = (
            weakref.WeakValueDictionary()
        )
        self._spent: Counter[str] = Counter()

    def charged(self) -> dict[str, int]:
        """Characters of long selectors by user."""
        return dict(self._spent)

    def share(self, request: Request, resource: Kind, options: WatchOptions) -> WatchOptions:
        """Return the options of a watch, with the selection of an equal one if there is one.

        Args:
            request: its selectors are let go.
            resource: what is watched.
            options: of the watch.

        Raises:
            ApiError: 429, the user has too many long ones, or all users together.
        """
        if options.selection is None:
            return options
        texts = (request.selectors.label_text, request.selectors.field_text)
        charge = self._charge(request.user.name, resource, texts)
        request.forget_selectors()
        held = self._shared.get((resource, *texts))
        if held is None:
            held = self._shared[resource, *texts] = _Held(options.selection)
        return replace(options, selection=held.selection, held=(held, charge))

    def _charge(self, user: str, resource: Kind, texts: tuple[str, str]) -> Charge | None:
        chars = sum(map(len, texts))
        if chars <= LONG_CHARS:
            return None
        charge = self._charges.get((user, resource, *texts))
        if charge is not None:
            return charge
        if self._spent[user] + chars > PER_USER_CHARS or self._spent.total() + chars > ALL_CHARS:
            raise too_many_requests(TOO_LONG, RETRY_S)
        charge = self._charges[user, resource, *texts] = Charge(self._spent, user, chars)
        return charge
