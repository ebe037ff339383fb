"""What writes of a kind do: the functions and tables that a `Kind` carries for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubetrio.machinery.asking import Client
from kubetrio.machinery.identity import ANONYMOUS, UserInfo
from kubetrio.machinery.names_validation import NameCheck
from kubetrio.machinery.ownership import FieldFilter
from kubetrio.machinery.status import Cause

Json = dict[str, Any]
Change = Callable[[Json], None]
"""Changes an object in place."""
Convert = Callable[[Json], Json]
"""An object of another version from one; what it is given is not changed."""
Causes = list[Cause]
Check = Callable[[Any, str, Causes], None]
"""A check: (value, its path, where causes go)."""
UpdateCheck = Callable[[Json, Json, Causes], None]
"""A check of a change: (new object, old object, where causes go)."""
Messages = Callable[[str], Sequence[str]]
"""A format: text to what is wrong with it."""


class Context(NamedTuple):
    """The circumstances of a write (a tuple: every one makes one).

    Args:
        now: wall clock as a Kubernetes time such as ``2026-01-02T03:04:05Z``.
        uid: identity of the new object; empty on update.
        user: who asks.
    """

    now: str
    uid: str = ""
    user: UserInfo = ANONYMOUS


Create = Callable[[Json, Context], None]
"""Prepares a new object in place."""
Update = Callable[[Json, Json, Context, str], None]
"""Prepares an object that replaces another, in place: (new, old, circumstances, subresource)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The checks of one kind, but for its metadata.

    Args:
        create: check of a whole object; its path is empty.
        update: check of a change, besides ``create``.
        revalidate: whether ``create`` also checks the new object of an update.
        checked_last: whether it does so after ``update``.
        subresources: checks of changes written there, by name (``status``, ``scale``, ...);
            nothing else is checked then.
        warnings: texts for ``Warning`` headers from (new object, old one or None).
        status_warnings: such texts about a new status, where there are any.
        spared: texts for ``Warning`` headers about what the last check let be, whether or not it
            found something else.
        adapt: by version: conversion into the version the checks are written for.
    """

    create: Check | None = None
    update: UpdateCheck | None = None
    revalidate: bool = True
    checked_last: bool = False
    subresources: Mapping[str, UpdateCheck] = field(default_factory=dict)
    warnings: Callable[[Json, Json | None], list[str]] | None = None
    status_warnings: Callable[[Json], list[str]] | None = None
    spared: Callable[[], list[str]] | None = None
    adapt: Mapping[str, Convert] = field(default_factory=dict)


Rounds = tuple[int, int]
"""How often a kind checks, on an update, the metadata of the object and that of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataChecks:
    """What a kind checks of metadata itself.

    kube-apiserver checks metadata once for every kind, and most kinds check it again: on create
    instead of that, on update beside it.  What is wrong is listed for each of these rounds.

    Args:
        created: whether it checks a new object; if not, metadata are looked at when nothing else is
            wrong, and any name that fits into a path will do.
        updated: its rounds when the object is updated.
        subresources: its rounds where a subresource is written, where they are others than
            :data:`SUBRESOURCE`.
        change_first: whether it checks the change before the object.
        standard_finalizers: whether finalizers without a domain must be standard ones.
        name: the check of names, made from the object; None for that of the kind's strategy.
    """

    created: bool = True
    updated: Rounds = (1, 1)
    subresources: Mapping[str, Rounds] = field(default_factory=dict)
    change_first: bool = False
    standard_finalizers: bool = True
    name: Callable[[Json], NameCheck] | None = None


SUBRESOURCE: Rounds = (0, 1)
"""The rounds of most subresources."""


NO_CHECKS = Validation()
USUAL = MetadataChecks()


def unchanged_object(_: Json) -> None:
    """The defaults of a kind that has none."""


def _create_as_is(_new: Json, _context: Context) -> None:
    pass


def _update_as_is(_new: Json, _old: Json, _context: Context, _subresource: str) -> None:
    pass


Marked = Callable[[Json, str], Json]
"""An object whose deletion begins, from (object, now as a Kubernetes time)."""
GetObject = Callable[[str], Awaitable[Json | None]]
"""Reads an object by its storage key; None where there is none."""
LookUp = Callable[[GetObject, str, str, Json, Json | None], Awaitable[list[Cause]]]
"""What is wrong by what else is stored: (reads, namespace, subresource, new object, old one)."""

RightsCheck = Callable[[Client, str, Json, Json | None], Awaitable[list[Cause]]]
"""What a client may not write of what it wrote: (client, subresource, new object, old one)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStrategy:
    """What writes of a kind do, in the version in which they work (`Kind.hub`).

    Args:
        default: fills in what is not said; applying it twice changes nothing.
        prepare_create: resets the status of a new object, and what the kind does beside.
        prepare_update: the same for an object that replaces another.
        finish: what a new object gets when it is stored, which nothing judges; None for nothing.
        validation: the checks.
        metadata: the checks of metadata.
        keep: by subresource, empty for the object itself: which of the written fields can be owned
            there; other fields are put back by the kind (``reset fields``).
        look_up: what is checked of other objects, where that is anything.
        rights: which rights parts of the object need beside the verb, where that is any.
        pod_spec: dotted path of the pod spec that the object holds, or empty.
        marked: what the first deletion makes of an object, where that always waits for a
            finalizer of the kind's own; None for others.
    """

    default: Change = unchanged_object
    prepare_create: Create = _create_as_is
    prepare_update: Update = _update_as_is
    finish: Change | None = None
    validation: Validation = NO_CHECKS
    metadata: MetadataChecks = USUAL
    keep: Mapping[str, FieldFilter] = field(default_factory=dict)
    look_up: LookUp | None = None
    rights: RightsCheck | None = None
    pod_spec: str = ""
    marked: Marked | None = None


NO_RULES = WriteStrategy()
