"""What a kind is: one frozen value for each resource in each version that is served.

A built-in kind is made of facts (``schemas/``) and of what its folder in ``kinds`` says of it; a
CustomResourceDefinition makes the same value of a schema at run time.  Every module
reads facts of a kind from its value; none has a table of names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
)

from kubetrio.machinery.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors
from kubetrio.schema.objecttype import ObjectType, OpenType
from kubetrio.schema.printing import PLAIN, Printer
from kubetrio.schema.rules import NO_RULES, Convert, Json, WriteStrategy

if TYPE_CHECKING:
    import typing_extensions  # type checkers have it; 3.13 is the first Python with defaults

    ObjectT = typing_extensions.TypeVar(
        "ObjectT", bound=Mapping[str, object], default=dict[str, Any]
    )
else:
    ObjectT = TypeVar("ObjectT")


class ScalePaths(NamedTuple):
    """Where an object has what its scale shows: dotted paths that begin with a dot.

    Args:
        wanted: number of replicas wanted.
        actual: number of replicas there are.
        selector: text of the label selector of what is scaled, or empty.
    """

    wanted: str
    actual: str
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A path below an object.

    Args:
        name: last path element, such as ``status``.
        kind: identity of the body it takes and returns.
        verbs: API verbs it serves.
        older: versions of that kind which it takes as well.
        serves: name of what serves it, where that is not the object's own verbs; a name of
            ``api.subverbs``.
        replicas: of a ``scale``: where the object has what that shows, None for where workloads
            have it.
        columns: whether it can be asked for as a table.
    """

    name: str
    kind: GroupVersionKind
    verbs: frozenset[str]
    older: frozenset[GroupVersionKind] = frozenset()
    serves: str = ""
    replicas: ScalePaths | None = None
    columns: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Rules of one resource.

    Args:
        name_rule: class of valid names, as in ``schemas/names.json``.
        generation: whether new objects have a ``metadata.generation``.
        generation_counts: whether changes of the spec count in it; where new objects have none,
            the first change makes one.
        generation_exact: whether an empty list or map that is given where there was none counts.
        generation_metadata: members of metadata whose changes count too.
        generation_status: whether changes of the status count too, where it is no subresource.
        status: whether ``status`` is written only through its subresource.
        create_on_update: whether PUT to a missing name creates.
        unconditional_update: whether an update may leave out the resourceVersion.
        returns_deleted: whether DELETE answers with the object instead of a Status.
        collected: whether dependents are looked after; if not, propagation policies do nothing.
        orphan_by_default: whether dependents stay when no propagation policy is given.
        orphan_warning: what to tell a client that left the policy out, or empty.
        graceful: whether deletion waits for a kubelet.
        random_names: whether names made from ``generateName`` get a random suffix.
        unnamed: whether an object may come without a name, and then gets a random one.
        own_deletion: whether its storage deletes in a way of its own and says so in its own words.
        waits_for_content: whether deletion always waits for what is in it to be found gone.
        companion: (group, version, plural name) of what of the same name goes with an object.
        time_to_live: name of the flag that says how long objects stay behind their last change;
            empty for good.
    """

    name_rule: str = "dns1123Subdomain253"
    generation: bool = False
    generation_counts: bool = False
    generation_exact: bool = False
    generation_metadata: tuple[str, ...] = ()
    generation_status: bool = False
    status: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    collected: bool = True
    orphan_by_default: bool = False
    orphan_warning: str = ""
    graceful: bool = False
    random_names: bool = True
    unnamed: bool = False
    own_deletion: bool = False
    waits_for_content: bool = False
    companion: tuple[str, str, str] | None = None
    time_to_live: str = ""


class KindParts(Protocol):
    """Makes what a kind is asked for, when it is asked for the first time."""

    def strategy(self, kind: Kind[Any]) -> Strategy:
        """How its objects live."""

    def rules(self, kind: Kind[Any]) -> WriteStrategy:
        """What its writes do."""

    def printer(self, kind: Kind[Any]) -> Printer:
        """How its objects become rows of a ``Table``."""

    def object_type(self, kind: Kind[Any]) -> ObjectType:
        """The type of its objects."""

    def conversion(self, kind: Kind[Any]) -> Conversion:
        """How its objects come from the version in which they are stored, and go there."""

    def selectors(self, kind: Kind[Any]) -> FieldSelectors:
        """Fields its objects can be selected by."""

    def migrate_stored(self, kind: Kind[Any]) -> WaitingConvert | None:
        """What brings stored objects in order, while some may need it; asked each time."""


class PlainParts:
    """Parts of a kind that says nothing of itself: any JSON, no rules, name and age as columns."""

    def strategy(self, kind: Kind) -> Strategy:
        """See `KindParts`."""
        return Strategy(status="status" in kind.subresources)

    def rules(self, _: Kind) -> WriteStrategy:
        """See `KindParts`."""
        return NO_RULES

    def printer(self, _: Kind) -> Printer:
        """See `KindParts`."""
        return PLAIN

    def object_type(self, _: Kind) -> ObjectType:
        """See `KindParts`."""
        return OpenType()

    def conversion(self, kind: Kind) -> Conversion:
        """See `KindParts`: only the version itself differs."""
        return Conversion(
            lambda obj: {**obj, "apiVersion": kind.stored.api_version},
            lambda obj: {**obj, "apiVersion": kind.api_version},
            renames=True,
        )

    def selectors(self, _: Kind) -> FieldSelectors:
        """See `KindParts`."""
        return FieldSelectors(refusal=SHORT)

    def migrate_stored(self, _: Kind) -> WaitingConvert | None:
        """See `KindParts`: what is stored is as it was written, and stays."""
        return None


class WaitingConvert(Protocol):
    """A conversion that waits for others, such as a webhook."""

    async def __call__(self, objects: Sequence[Json], to: Kind) -> Sequence[Json]:
        """Objects of any versions of a family in one of them, in the same order.

        Args:
            objects: none of them is in the version asked for; they are not to be changed.
            to: the version asked for, whose decoder could have returned what comes back.  Of
                metadata only labels and annotations count.

        Raises:
            ApiError: they cannot be converted.
        """


def _waited_for(_: Json) -> Json:
    raise ValueError("the conversion has to be waited for")


class Conversion(NamedTuple):
    """Conversion of objects between a version and the one in which they are stored.

    Args:
        to_stored: from this version; objects are as its type's decoder returns them.
        from_stored: to this version.
        waiting: what is used instead of both where converting may wait or fail.
        renames: whether versions differ by nothing but their names and schemas: what a schema does
            not have is taken out after the conversion, and who compares versions sees it.
        coerce: what becomes of an object that `waiting` brought to this version.
    """

    to_stored: Convert
    from_stored: Convert
    waiting: WaitingConvert | None = None
    renames: bool = False
    coerce: Convert | None = None

    @classmethod
    def awaited(cls, convert: WaitingConvert, coerce: Convert | None = None) -> Conversion:
        """A conversion that is only done by waiting for it."""
        return cls(_waited_for, _waited_for, convert, coerce=coerce)


class Family:
    """All versions in which the same objects are served.

    The code that makes the kinds adds each of them once, the stored version first.
    """

    def __init__(self) -> None:
        self.versions: dict[GroupVersion, Kind] = {}

    @cached_property
    def stored(self) -> Kind:
        """The version in which objects are stored."""
        return next(iter(self.versions.values()))

    def add(self, kind: Kind) -> Kind:
        """Take a version in; returns it."""
        self.versions[kind.group_version] = kind
        return kind


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind(Generic[ObjectT]):
    """One resource in one version; compared by identity, so that it can key caches.

    What is made of it and kept is kept on it (``cached_property``), and goes with it.  Its type
    parameter is the type of its objects: a dictionary, or the one that a client was asked for.

    Args:
        group: API group, empty for core.
        version: API version.
        resource: plural name, as in paths.
        kind: kind name.
        lists: kind of its collections, empty for the kind's name with ``List`` after it.
        singular: singular name, for discovery.
        namespaced: whether objects live in a namespace.
        verbs: API verbs the collection serves.
        short_names: aliases for kubectl.
        categories: groups of resources for kubectl, such as ``all``.
        storage_version_hash: opaque text for discovery, or empty.
        schema_name: name of the type in ``schemas/types``, or empty.
        storage_prefix: key prefix of its objects, ending with a slash.
        family: all versions of the same objects, None if this is the only one.
        subresources: by name.
        cached: whether kube-apiserver reads its objects from memory where a request lets it; what
            it always reads from etcd it pages whenever there is a limit, and does not wait for.
        deprecated: warning that goes with every answer about it, or empty.
        serves: name of what serves the collection, where objects are not stored; a name of
            ``api.subverbs``.
        open: whether any user may ask, about themselves, rights or not.
        builtin: whether it is part of the server and not of a definition.
        parts: makes the rest of it.
    """

    group: str
    version: str
    resource: str
    kind: str
    singular: str
    namespaced: bool
    verbs: frozenset[str]
    lists: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""
    schema_name: str = ""
    storage_prefix: str = ""
    family: Family | None = None
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    cached: bool = True
    deprecated: str = ""
    serves: str = ""
    open: bool = False
    builtin: bool = False
    parts: KindParts = field(default_factory=PlainParts)

    @cached_property
    def group_version(self) -> GroupVersion:
        """Group and version."""
        return GroupVersion(self.group, self.version)

    @cached_property
    def api_version(self) -> str:
        """The ``apiVersion`` text of its objects."""
        return self.group_version.api_version

    @cached_property
    def group_resource(self) -> GroupResource:
        """Identity in messages about paths."""
        return GroupResource(self.group, self.resource)

    @cached_property
    def group_kind(self) -> GroupKind:
        """Identity in messages about objects."""
        return GroupKind(self.group, self.kind)

    @cached_property
    def group_version_kind(self) -> GroupVersionKind:
        """Identity of its objects."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @cached_property
    def stored(self) -> Kind[Any]:
        """The kind in the version in which its objects are stored."""
        return self if self.family is None else self.family.stored

    @cached_property
    def stored_as(self) -> GroupVersion:
        """Group and version of stored objects."""
        return self.stored.group_version

    @cached_property
    def hub(self) -> Kind[Any]:
        """The kind in the version in which writes are admitted, prepared and checked.

        Built-in kinds are worked on in the stored version, in the place of kube-apiserver's
        internal one; custom resources in the version of the request, by its schema and rules.
        """
        return self.stored if self.builtin else self

    @cached_property
    def strategy(self) -> Strategy:
        """How its objects live."""
        return self.parts.strategy(self)

    @cached_property
    def rules(self) -> WriteStrategy:
        """What its writes do; loaded when one of its objects is written first."""
        return self.parts.rules(self)

    @cached_property
    def printer(self) -> Printer:
        """How its objects become rows of a ``Table``; loaded with the first table."""
        return self.parts.printer(self)

    @cached_property
    def type(self) -> ObjectType:
        """The type of its objects."""
        return self.parts.object_type(self)

    @cached_property
    def selectors(self) -> FieldSelectors:
        """Fields its objects can be selected by."""
        return self.parts.selectors(self)

    @cached_property
    def _conversion(self) -> Conversion:
        return self.parts.conversion(self)

    @property
    def waiting(self) -> WaitingConvert | None:
        """What converts between this version and the stored one where that has to be waited for.

        Objects of such a kind are converted by `resources.conversion` alone.  While
        what is stored may look otherwise than the stored version has it, that is every version.
        """
        migrate_stored = self.migrate_stored
        if migrate_stored is not None:
            return migrate_stored
        return None if self.stored is self else self._conversion.waiting

    @cached_property
    def converter(self) -> WaitingConvert | None:
        """What converts between any two versions of the family where that has to be waited for."""
        if self.builtin and self.stored is self:
            return None
        return self._conversion.waiting

    def coerce(self, obj: Json) -> Json:
        """An object that `converter` brought to this version, as its schema has it.

        Raises:
            ApiError: 500, it holds what cannot be read.
        """
        coerce = self._conversion.coerce
        return obj if coerce is None else coerce(obj)

    @property
    def renames(self) -> bool:
        """Whether this version differs from the stored one by its name and its schema alone."""
        return not self.builtin and (self.stored is self or self._conversion.renames)

    @property
    def migrate_stored(self) -> WaitingConvert | None:
        """What brings stored objects in order that were written by other schemas or versions.

        None when all objects are known to be as they would be written today.
        """
        return None if self.builtin else self.parts.migrate_stored(self)

    def to_stored(self, obj: Json) -> Json:
        """An object of this version in the version that is stored.

        Raises:
            ValueError: it cannot be converted, or not without `waiting` for it.
        """
        return obj if self.stored is self else self._conversion.to_stored(obj)

    def from_stored(self, obj: Json) -> Json:
        """A stored object in this version.

        Raises:
            ValueError: it cannot be converted, or not without `waiting` for it.
        """
        return obj if self.stored is self else self._conversion.from_stored(obj)

    @cached_property
    def made(self) -> dict[Hashable, Any]:
        """What others make of it and keep, by what makes it; see `cached_on_kind`."""
        return {}

    @cached_property
    def list_kind(self) -> str:
        """Kind of its collections."""
        return self.lists or f"{self.kind}List"

    def key(self, namespace: str, name: str) -> str:
        """Storage key of one object."""
        if self.namespaced:
            return f"{self.storage_prefix}{namespace}/{name}"
        return f"{self.storage_prefix}{name}"

    def prefix(self, namespace: str) -> str:
        """Key prefix of a collection; an empty namespace means all of them."""
        if self.namespaced and namespace:
            return f"{self.storage_prefix}{namespace}/"
        return self.storage_prefix


P = ParamSpec("P")
T = TypeVar("T")


def cached_on_kind(make: Callable[Concatenate[Kind, P], T]) -> Callable[Concatenate[Kind, P], T]:
    """Remember what a function makes of a kind on the kind's value, so that it goes with it.

    Args:
        make: its further arguments, which are given by place, are few in number.
    """

    def get(kind: Kind, /, *more: P.args, **named: P.kwargs) -> T:
        cache = kind.made
        key = (make, *more) if more else make
        if key in cache:
            cached: T = cache[key]
            return cached
        result = cache[key] = make(kind, *more, **named)
        return result

    update_wrapper(get, make)
    return get
