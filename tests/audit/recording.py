"""Events, and a plugin that remembers them, for the tests of what writes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import trio

from kubetrio.audit.events import AuditEvent, time_json
from kubetrio.audit.policy import Level
from kubetrio.machinery.identity import UserInfo


def event(number: int = 0, stage: str = "ResponseComplete", **more: Any) -> AuditEvent:
    """An event of a request, with what is given."""
    at = time_json(1_700_000_000)
    given: dict[str, Any] = {
        "level": Level.METADATA, "audit_id": f"id-{number}", "stage": stage, "uri": "/x",
        "verb": "get", "user": UserInfo("me"), "sources": b"", "ip": "", "agent": "",
        "namespace": "", "ref": b"", "received": at, "staged": at,
    }  # fmt: skip
    return AuditEvent(**{**given, **more})


class Recorder:
    """A plugin that remembers what it wrote, when it may."""

    name = "recorder"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.times: list[float] = []
        self.gate = trio.Event()
        self.gate.set()
        self.good = True
        self.at_once = self.most = 0

    def flat(self) -> list[str]:
        return list(chain.from_iterable(self.batches))

    async def process(self, events: Sequence[AuditEvent]) -> Sequence[bool]:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.gate.wait()
        self.at_once -= 1
        self.batches.append([one.audit_id for one in events])
        self.times.append(trio.current_time())
        return [self.good] * len(events)

    async def run(self) -> None:
        await trio.sleep_forever()
