"""Store errors to API errors: one table."""

from __future__ import annotations

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
        case errors.FutureRevision() | errors.StoreBehind():
            return status.too_large_resource_version(error.revision, error.current)
        case errors.Compacted():
            return status.expired("The resourceVersion for the provided list is too old.")
        case errors.StoreClosed():
            return ApiError(
                503, "ServiceUnavailable", "apiserver is shutting down", {}, retry_after=1
            )
        case errors.StoreFull():
            # etcd's words behind its NOSPACE alarm; no error of the API, so without a reason
            # (endpoints/handlers/responsewriters/status.go, ErrorToAPIStatus).
            return ApiError(500, "", "etcdserver: mvcc: database space exceeded")
        case errors.Undecodable():
            return ApiError(500, "", str(error))  # as above, in the words of Go's decoders
        case errors.EngineFailed(timed_out=True):
            return status.timeout(status.TOO_LATE)
        case errors.EngineFailed():
            return ApiError(500, "", str(error))  # as above, in etcd's words
        case errors.StoreUnavailable():
            return status.internal_error(f"storage: {error}")
    return status.internal_error(str(error))
