"""Store errors to API errors."""

from __future__ import annotations

import pytest

from kubetrio.machinery.names import GroupResource
from kubetrio.resources.translate import translate
from kubetrio.store import errors
from kubetrio.store.sqlite.errors import DatabaseUnusable

DEPLOYMENTS = GroupResource("apps", "deployments")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        (errors.KeyExists("k", 7), 409, "AlreadyExists", 'deployments.apps "d" already exists'),
        (errors.KeyMissing("k", 7), 404, "NotFound", 'deployments.apps "d" not found'),
        (
            errors.RevisionMismatch("k", 7),
            409,
            "Conflict",
            (
                'Operation cannot be fulfilled on deployments.apps "d": the object has '
                "been modified; "
                "please apply your changes to the latest version and try again"
            ),
        ),
        (
            errors.FutureRevision(9, 7),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 7",
        ),
        (
            errors.StoreBehind(9, 7),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 7",
        ),
        (
            errors.EngineFailed("context deadline exceeded", timed_out=True, undecided=True),
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        ),
        (
            errors.EngineFailed("etcdserver: no leader", timed_out=False, undecided=False),
            500,
            "",
            "etcdserver: no leader",
        ),
        (
            errors.Compacted(3, 7),
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
        ),
    ],
)
def test_each_store_error_is_one_api_error(
    error: errors.StoreError, code: int, reason: str, message: str
) -> None:
    """In kube-apiserver's words."""
    found = translate(error, DEPLOYMENTS, "d")
    assert (found.code, found.reason, found.message) == (code, reason, message)


def test_a_closed_store_is_worth_another_try() -> None:
    """503 with Retry-After: another server, or the same one soon, will answer."""
    found = translate(errors.StoreClosed(), DEPLOYMENTS, "d")
    assert (found.code, found.retry_after) == (503, 1)


@pytest.mark.parametrize("kind", [errors.StoreUnavailable, DatabaseUnusable])
def test_a_failing_store_is_an_internal_error(kind: type[errors.StoreError]) -> None:
    """500, and the text says why."""
    found = translate(kind("disk full"), DEPLOYMENTS, "d")
    assert found.code == 500
    assert "disk full" in found.message


def test_a_full_disk_is_told_in_the_words_of_etcd() -> None:
    """An error that is none of the API: 500 without a reason, as behind a NOSPACE alarm."""
    found = translate(errors.StoreFull(), DEPLOYMENTS, "d").status()
    assert (found["code"], found["message"]) == (500, "etcdserver: mvcc: database space exceeded")
    assert "reason" not in found
    assert "details" not in found
