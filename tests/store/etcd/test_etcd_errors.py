"""Errors by what etcd says."""

import pytest

from kubetrio.store.etcd import errors
from kubetrio.store.etcd.errors import Code, EtcdError, error_of


@pytest.mark.parametrize(
    ("code", "text", "made"),
    [
        (11, "etcdserver: mvcc: required revision is a future revision", errors.FutureRevision),
        (8, "etcdserver: mvcc: database space exceeded", errors.NoSpace),
        (5, "etcdserver: requested lease not found", errors.LeaseNotFound),
        (3, "etcdserver: request is too large", errors.TooLarge),
        (8, "trying to send message larger than max", errors.TooLarge),
        (8, "etcdserver: too many requests", errors.TooManyRequests),
        (3, "etcdserver: user name is empty", errors.Unauthenticated),
        (16, "etcdserver: invalid auth token", errors.Unauthenticated),
        (7, "etcdserver: permission denied", errors.PermissionDenied),
        (9, "etcdserver: not leader", errors.Unavailable),
        (15, "etcdserver: corrupt cluster", errors.Corrupt),
        (3, "etcdserver: key is not provided", errors.Rejected),
    ],
)
def test_what_was_not_carried_out(code: int, text: str, made: type[EtcdError]) -> None:
    """Has a class of its own, and is decided."""
    error = error_of(code, text)
    assert type(error) is made
    assert (str(error), error.code, error.undecided) == (text, Code(code), False)


@pytest.mark.parametrize(
    ("code", "text", "made"),
    [
        (14, "etcdserver: leader changed", errors.Unavailable),
        (14, "etcdserver: server stopped", errors.Unavailable),
        (4, "context deadline exceeded", errors.TimedOut),
        (1, "context canceled", errors.Unavailable),
        (2, "anything", errors.Rejected),
        (13, "anything", errors.Rejected),
    ],
)
def test_what_may_have_been_carried_out(code: int, text: str, made: type[EtcdError]) -> None:
    """Is undecided."""
    error = error_of(code, text)
    assert type(error) is made
    assert error.undecided


def test_a_code_that_is_none() -> None:
    """Is an unknown one."""
    assert error_of(99, "").code is Code.UNKNOWN
