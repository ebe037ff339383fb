"""Events of the audit log as JSON."""

from __future__ import annotations

import trio
from recording import Recorder, event

from kubetrio.audit.backends import (
    Grouped,
    Truncating,
)
from kubetrio.audit.counting import Counting
from kubetrio.audit.events import AuditEvent
from kubetrio.audit.policy import Level


async def test_objects_go_from_large_events(autojump_clock: trio.testing.MockClock) -> None:
    """With a note; one that is still too large, or has no objects, is lost and counted."""
    plugin, counting = Recorder(), Counting()
    seen: list[AuditEvent] = []

    class Taking(Grouped):
        def take(self, event: AuditEvent) -> None:
            seen.append(event)

    backend = Truncating(Taking(plugin), 600, counting)
    large = b'"' + b"x" * 600 + b'"'
    backend.take(event(0, level=Level.REQUEST, request_object=large, annotations={"a": "b"}))
    backend.take(event(1, uri="/" + "x" * 700, level=Level.REQUEST))
    backend.take(event(2))
    assert [one.audit_id for one in seen] == ["id-0", "id-2"]
    assert not seen[0].request_object
    assert seen[0].annotations == {"a": "b", "audit.k8s.io/truncated": "true"}
    assert counting.errors == {"truncate": 1}
