"""Two writers of one thing: a controller stands back from what another writer keeps changing.

A controller manager beside this server, with other flags or of another version, may want an object
to be something else.  Each of the two then corrects the other for ever.  A controller here
that corrects one object to one state a few times leaves it alone for a while, says so, and tries
again later and later.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from math import inf

import trio

from kubetrio.observe.logs import Log

log = Log("kubetrio.controllers")
MOST = 3
"""So many times an object is corrected before the controller stands back."""
FIRST_S, LONGEST_S = 300.0, 4 * 3600.0
"""How long it stands back, in seconds: twice as long each time."""
FORGET_S = 600.0
"""A correction that held for so long is forgotten."""
MOST_KNOWN = 4096
SAID_S = 60.0
"""Time between log lines of one controller."""


@dataclass(slots=True)
class _Corrected:
    """What is known of an object.

    Args:
        wanted: what it was corrected to.
        times: how often, since that held.
        at: when it was last.
        until: for how long it is left alone.
        pause_s: for how long the next time.
    """

    wanted: Hashable
    times: int = 0
    at: float = -inf
    until: float = -inf
    pause_s: float = FIRST_S


class Rivals:
    """The corrections of one controller.

    Args:
        controller: its name, for the log.
        what: the objects that it corrects, for the log.
    """

    def __init__(self, controller: str, what: str) -> None:
        self._controller = controller
        self._what = what
        self._known: OrderedDict[str, _Corrected] = OrderedDict()
        self._said = -inf
        self._unsaid = 0

    def wait_s(self, key: str, wanted: Hashable) -> float:
        """Seconds for which an object that has to be corrected is left alone; 0 not at all.

        Args:
            key: of the object.
            wanted: what it is corrected to; other than the last time, it is no correction.
        """
        now = trio.current_time()
        known = self._known.get(key)
        held_s = 0.0 if known is None else now - max(known.at, known.until)
        if known is None or known.wanted != wanted or held_s > FORGET_S:
            known = self._known[key] = _Corrected(wanted)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        if now < known.until:
            return known.until - now
        if known.times < MOST:
            return 0.0
        pause_s = known.pause_s
        known.until, known.times = now + pause_s, MOST - 1
        known.pause_s = min(2 * pause_s, LONGEST_S)
        self._say(key, pause_s, now)
        return pause_s

    def corrected(self, key: str) -> None:
        """Note that an object was corrected; `wait_s` was asked before."""
        known = self._known.get(key)
        if known is not None:
            known.times, known.at = known.times + 1, trio.current_time()

    def _say(self, key: str, pause_s: float, now: float) -> None:
        if now - self._said < SAID_S:
            self._unsaid += 1
            return
        log.warning(
            "another client keeps changing an object, and it is left alone for a while: is it a "
            "controller manager with other flags?",
            controller=self._controller, object=self._what, key=key, seconds=round(pause_s),
            others=self._unsaid,
        )  # fmt: skip
        self._said, self._unsaid = now, 0
