"""The question put to an admission plugin."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind

Object = dict[str, Any]


class Operation(enum.StrEnum):
    """What is being done (a text: those hash without a call of Python code)."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


NOTHING_SAID: Mapping[str, Any] = {}


def unheard(_: Iterable[str]) -> None:
    """Discards warnings."""


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write on its way to the store.

    Args:
        operation: what is being done.
        resource: the resource.
        subresource: path element behind the name, or empty.
        namespace: namespace, or empty.
        name: object name; empty for a create that generates one.
        user: who asks.
        obj: the new object; mutating plugins change it in place or replace it.
        old: the object before, for updates and deletions.
        dry_run: whether nothing will be stored.
        options: what the client said of how to do it, such as members of ``CreateOptions``.
        warn: takes texts for ``Warning`` headers of the answer, whatever it will be.
        annotations: what plugins note for the audit log, by key.
        body_annotations: the same for what shows parts of the object: only where bodies are logged.
        repeat: set by a plugin that changed the object, so that mutating plugins look at it again.
        repeating: whether they do.
        memory: what plugins remember from the first time to the second, by their name.
        own: the server writes what it needs itself; see `Base.about_own`.
    """

    operation: Operation
    resource: Kind
    subresource: str
    namespace: str
    name: str
    user: UserInfo
    obj: Object | None
    old: Object | None
    dry_run: bool
    options: Mapping[str, Any] = field(default_factory=lambda: NOTHING_SAID)
    warn: Callable[[Iterable[str]], None] = unheard
    annotations: dict[str, str] = field(default_factory=dict)
    body_annotations: dict[str, str] = field(default_factory=dict)
    repeat: bool = False
    repeating: bool = False
    memory: dict[str, Any] = field(default_factory=dict)
    own: bool = False
