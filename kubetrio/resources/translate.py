"""Store errors to API errors: one table, and the words for preconditions that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.machinery import status
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.store import errors


def translate(error: errors.StoreError, resource: GroupResource, name: str) -> ApiError:
    """The API error a store error means for a resource."""
    match error:
        case errors.KeyExists():
            return status.already_exists(resource, name)
        case errors.KeyMissing():
            return status.not_found(resource, name)
        case errors.RevisionMismatch():
            return status.conflict(resource, name, status.OBJECT_MODIFIED)
        case errors.FutureRevision():
            return status.too_large_resource_version(error.revision, error.current)
        case errors.Compacted():
            return status.expired("The resourceVersion for the provided list is too old.")
        case errors.StoreClosed():
            return ApiError(
                503, "ServiceUnavailable", "apiserver is shutting down", {}, retry_after=1
            )
        case errors.StoreUnavailable():
            return status.internal_error(f"storage: {error}")
    return status.internal_error(str(error))


def check_identity(
    resource: GroupResource, key: str, meta: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    """Check that a stored object is the one that a write means.

    Args:
        resource: what is written.
        key: under which the object is stored, which kube-apiserver tells.
        meta: the metadata that is stored.
        wanted: ``uid`` and ``resourceVersion`` that must be those of the object; without one, or
            with an empty one, any will do.

    Raises:
        ApiError: 409.
    """
    for member, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        value = wanted.get(member)
        if value and value != meta[member]:
            raise status.conflict(
                resource,
                meta["name"],
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {label} in precondition: {value}, "
                f"{label} in object meta: {meta[member]}",
            )
