"""What a write carries beside the object, what its steps need, and what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, TypeVarTuple

from kubetrio.admission.attributes import NOTHING_SAID, unheard
from kubetrio.machinery.asking import Client
from kubetrio.machinery.fielderrors import format_value
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import Cause, invalid
from kubetrio.observe import prometheus
from kubetrio.schema.kind import Kind
from kubetrio.wire.report import Empties

Object = dict[str, Any]


class Target(NamedTuple):
    """What is written.

    Args:
        resource: the resource, in the version of the request.
        namespace: namespace, or empty.
        name: object name; empty for a create.
        subresource: path element behind the name, or empty.
    """

    resource: Kind
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> str:
        """Storage key."""
        return self.resource.key(self.namespace, self.name)


T = TypeVar("T")
Args = TypeVarTuple("Args")


class Work(Protocol):
    """Calls a function that works over an object and touches nothing else."""

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call `fn(*args)`."""
        ...


async def run_inline(fn: Callable[[*Args], T], *args: *Args) -> T:
    """Call it here."""
    return fn(*args)


async def ignore_size(value: bytes) -> None:
    """Accept values of any size."""


@dataclass(slots=True)
class Sent:
    """What is known of the object of a write beside the object.

    Args:
        empties: members of it that were given and are empty; in the version of the request.
        merged: whether it is as an apply merged it, with members that its type does not know.
    """

    empties: Empties | None = None
    merged: bool = False


class WriteOptions(NamedTuple):
    """Who writes, and how.

    Args:
        user: who asks.
        dry_run: run every stage and store nothing.
        field_manager: owner of the fields set, for managedFields.
        warn: takes texts for ``Warning`` headers, whatever the answer will be.
        own: the server writes about itself: its address may be a loopback one, which the rules
            for endpoints of others refuse, and what users configure is not asked.
        client: whose rights count for what the write does beside its verb; None for the server's
            own writers, which are not asked.
        work: calls functions that work over the object, elsewhere if that takes long.
        light: whether `work` need not be asked, unless the object that is there is large.
        weigh: told of the object that is there already; waits until there is room for the work.
        options: the members of ``CreateOptions`` and the like as the client gave them.
        of_collection: whether a deletion means whatever there is, and not the object by its name.
        annotations: takes what admission tells the audit log; None without one.
        body_annotations: the same of what shows parts of objects.
        shown: what admission that validates sees of an object, where a subresource shows something
            else; admission that mutates was asked about that before (`Lifecycle.mutate`).
        sent: receives and tells what is known of the object beside it; None where nothing asks.
    """

    user: UserInfo
    dry_run: bool = False
    field_manager: str = ""
    warn: Callable[[Iterable[str]], None] = unheard
    own: bool = False
    client: Client | None = None
    work: Work = run_inline
    light: bool = False
    weigh: Callable[[bytes], Awaitable[None]] = ignore_size
    options: Mapping[str, Any] = NOTHING_SAID
    of_collection: bool = False
    annotations: dict[str, str] | None = None
    body_annotations: dict[str, str] | None = None
    shown: Callable[[Object], Object] | None = None
    sent: Sent | None = None

    @property
    def empties(self) -> Empties | None:
        """Members of the object that were given and are empty."""
        return None if self.sent is None else self.sent.empties


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options of a deletion (docs: DeleteOptions).

    Args:
        grace_period_s: seconds, None for the kind's default.
        uid: precondition, or None.
        resource_version: precondition, or None.
        propagation: ``Orphan``, ``Background``, ``Foreground`` or empty for the default.
        dry_run: store nothing.
        waits: the client said that dependents go too, in the old way (``orphanDependents=false``),
            and so takes 202 for an object that waits for them.
    """

    grace_period_s: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    dry_run: bool = False
    waits: bool = False


PROPAGATION = ("Foreground", "Background", "Orphan", "nil")
IGNORE_READ_ERROR = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""An option of a feature that is off: it is read, and forgotten before anything looks at it."""
DELETE_OPTIONS = GroupKind("meta.k8s.io", "DeleteOptions")


def delete_options(raw: Object, *, dry_run: list[str] | None = None) -> DeleteOptions:
    """Read and validate a DeleteOptions object.

    Args:
        raw: the decoded object, from the body or made from the query.
        dry_run: values of ``dryRun``; taken from the object when None.

    Raises:
        ApiError: 422 with kube-apiserver's causes.
    """
    dry = dry_run if dry_run is not None else list(raw.get("dryRun") or [])
    policy = raw.get("propagationPolicy")
    legacy = raw.get("orphanDependents")
    causes: list[Cause] = []
    if policy is not None and legacy is not None:
        causes.append(
            Cause(
                "FieldValueInvalid",
                f'Invalid value: "{policy}": '
                "orphanDependents and deletionPropagation cannot be both set",
                "propagationPolicy",
            )
        )
    if policy is not None and policy not in PROPAGATION[:3]:
        supported = ", ".join(f'"{value}"' for value in PROPAGATION)
        causes.append(
            Cause(
                "FieldValueNotSupported",
                f'Unsupported value: "{policy}": supported values: {supported}',
                "propagationPolicy",
            )
        )
    causes += dry_run_causes(dry)
    if causes:
        raise invalid(DELETE_OPTIONS, "", causes)
    if policy is None and legacy is not None:
        policy = "Orphan" if legacy else "Background"
    preconditions = raw.get("preconditions") or {}
    return DeleteOptions(
        grace_period_s=raw.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation=policy or "",
        dry_run=bool(dry),
        waits=legacy is False,
    )


def dry_run_causes(values: list[str]) -> list[Cause]:
    """Causes for ``dryRun`` values other than ``All``."""
    if not values or values == ["All"] or all(value == "All" for value in values):
        return []
    return [
        Cause(
            "FieldValueNotSupported",
            f'Unsupported value: {format_value(values)}: supported values: "All"',
            "dryRun",
        )
    ]


class Written(NamedTuple):
    """The result of a write (a tuple: every one makes one).

    Args:
        value: the object as bytes, in the stored version.
        created: whether it did not exist before.
    """

    value: bytes
    created: bool


class Allocator(Protocol):
    """Gives objects of one kind values that only one of them may have."""

    async def start(self) -> None:
        """Read what is in use."""
        ...

    def writing(
        self, new: Object, old: Object | None, *, dry_run: bool
    ) -> AbstractAsyncContextManager[None]:
        """Fill in what is missing; given back when the block fails."""
        ...

    async def deleted(self, obj: Object) -> None:
        """Release what an object had that is gone."""
        ...

    def families(self) -> Iterable[prometheus.Metric]:
        """What is given and what is free, as metrics."""
        ...
