"""A write under way: the value that the steps of a recipe read and fill in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.chain import Chain
from kubetrio.env import Env
from kubetrio.machinery.status import Cause
from kubetrio.resources.deletion import Outcome
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.writes import (
    Allocator,
    DeleteOptions,
    Target,
    WriteOptions,
    Written,
    run_inline,
)
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import KeyValue, ReadingAndWriting, Stamped

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]
"""A new object from the one that is there, or from none, both in the version that writes work in
(`Kind.hub`); called again when another write came between."""
MakeFromAny = Callable[[Object | None], Object]
"""A new object from the one that is there, or from none, both in the version of the client; called
again when another write came between, or when it lacks a conversion (`Unconverted`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteParts:
    """What the steps of a server's writes use.

    Args:
        store: where objects live.
        registry: what is served.
        admission: plugins to ask.
        env: wall clock, identities and names.
        allocators: by group and plural name, for the kinds that need one.
        allow_privileged: whether containers may be privileged.
        times_to_live: by the names that kinds give them (`Strategy.time_to_live`), in seconds;
            objects of kinds without one stay for good.
    """

    store: ReadingAndWriting
    registry: LiveRegistry
    admission: Chain
    env: Env
    allocators: Mapping[tuple[str, str], Allocator]
    allow_privileged: bool
    times_to_live: Mapping[str, float]

    def time_to_live_s(self, kind: Kind) -> float:
        """Return how long objects of a kind stay after their last change, in seconds; 0 for ever.

        Args:
            kind: in the stored version.
        """
        lives = self.times_to_live
        return lives.get(kind.strategy.time_to_live, 0.0) if lives else 0.0


class Write:
    """One attempt at a write.

    Args:
        parts: what the steps use.
        target: what is written.
        options: who writes, and how.
        obj: the new object, where it is known from the start.

    Attributes:
        kind: the kind of the target, in the version of the request.
        inline: whether steps that work over the object alone run on the event loop.
        obj: the new object; in the version of the client up to `convert`, then in `Kind.hub`.
        sent: what counts as sent by the writer of a new object; the object itself when None.
        fields: notes who owns which fields.
        make: the new object of an update, in the version of the client.
        change: the new object of an update, in `Kind.hub`.
        current: the stored object of an update, as bytes.
        stored: it as an object.
        old: it in `Kind.hub`; None for a create.
        asked: it in the version of the client.
        insists: whether the client named the version that it saw.
        uid_is_precondition: whether uid and version in the new object name the object meant
            (PUT), or come from the stored one (PATCH).
        applied: whether an apply creates the object that is missing.
        attributes: the write as admission sees it.
        now: when an attempt at an update began.
        prefix: what a name is generated from; empty where the client gave the name.
        claim: addresses and ports that the object has until the write fails.
        causes: what is wrong by what else is stored.
        removes: whether the update takes away what the object waited for.
        value: what is to be stored.
        written: the result.
        deletion: how an object is deleted.
        outcome: what a deletion does.
        doomed: uid of the object that a deletion has marked before it removes it; else empty.
    """

    __slots__ = (
        "applied",
        "asked",
        "attributes",
        "causes",
        "change",
        "claim",
        "current",
        "deletion",
        "doomed",
        "fields",
        "inline",
        "insists",
        "kind",
        "make",
        "now",
        "obj",
        "old",
        "options",
        "outcome",
        "parts",
        "prefix",
        "removes",
        "sent",
        "stored",
        "target",
        "uid_is_precondition",
        "value",
        "written",
    )

    attributes: Attributes
    change: Change
    current: KeyValue
    deletion: DeleteOptions
    fields: FieldManager
    make: MakeFromAny
    now: str
    outcome: Outcome
    stored: Object
    value: Stamped

    def __init__(
        self, parts: WriteParts, target: Target, options: WriteOptions, obj: Object
    ) -> None:
        self.parts = parts
        self.target = target
        self.options = options
        self.obj = obj
        self.kind = target.resource
        self.inline = options.light or options.work is run_inline
        self.sent: Object | None = None
        self.old: Object | None = None
        self.asked: Object | None = None
        self.insists = False
        self.uid_is_precondition = False
        self.applied = False
        self.prefix = ""
        self.claim: AbstractAsyncContextManager[None] | None = None
        self.causes: list[Cause] = []
        self.removes = False
        self.doomed = ""
        self.written: Written | None = None
