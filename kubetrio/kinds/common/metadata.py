"""What kinds do with ``metadata``: how often they check it, and what they put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubetrio.machinery.names_validation import NameCheck
from kubetrio.schema.rules import Json, MetadataChecks

CHANGE_FIRST = MetadataChecks(change_first=True)
CHANGE = MetadataChecks(updated=(0, 1))
OBJECT = MetadataChecks(updated=(1, 0))
UNCHECKED = MetadataChecks(
    created=False, updated=(0, 0), subresources={"status": (0, 0)}, standard_finalizers=False
)
ADMISSION = MetadataChecks(
    updated=(1, 0), subresources={"status": (0, 0)}, standard_finalizers=False
)


def always(check: NameCheck) -> Callable[[Json], NameCheck]:
    """The check of names of a kind for which it does not depend on the object."""
    return lambda _: check


GIVEN_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
"""Members of metadata that clients set."""
_KEPT_METADATA = ("deletionTimestamp", "generation", "selfLink", *GIVEN_METADATA)


def keep_metadata_of_stored(new: Json, old: Json, names: Iterable[str] = _KEPT_METADATA) -> None:
    """Undo what a subresource write did to metadata, except to managedFields.

    Args:
        new: the object to be stored; it is changed.
        old: the stored object.
        names: members that are kept.
    """
    meta = new["metadata"]
    for name in names:
        copy_member(meta, old["metadata"], name)


def ignore_metadata(new: Json, old: Json) -> None:
    """Undo all that a subresource write did to metadata, except to managedFields."""
    meta = dict(old["metadata"])
    copy_member(meta, new["metadata"], "managedFields")
    new["metadata"] = meta


def copy_member(target: Json, source: Json, name: str) -> None:
    """Make a member equal to that of another object, absence included."""
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)
