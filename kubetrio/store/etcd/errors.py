"""Errors of calls to etcd, as values.

What a caller has to know of a write that failed is whether it may have been carried out:
`EtcdError.undecided`.

Source: etcd's api/v3rpc/rpctypes/error.go for texts; gRPC's statuscodes.md for numbers.
"""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Status codes of gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class EtcdError(Exception):
    """Base of all errors of a call.

    Args:
        text: what etcd or the connection says.
        code: gRPC's status.
        undecided: whether the call may have been carried out, or may still be.
    """

    def __init__(self, text: str, code: Code = Code.UNKNOWN, *, undecided: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.undecided = undecided


class Unavailable(EtcdError):
    """No member answers, a connection broke, or the member has no leader."""


class TimedOut(EtcdError):
    """No answer came before the deadline."""


class NoSpace(EtcdError):
    """The database has reached its quota; etcd takes deletions and compactions only."""


class TooManyRequests(EtcdError):
    """The member has too many requests that are not applied yet; the call was not carried out."""


class TooLarge(EtcdError):
    """A message is larger than etcd or this client takes."""


class Compacted(EtcdError):
    """A revision older than the history that etcd keeps.

    Args:
        text: what etcd says.
        revision: newest compacted revision, 0 where etcd does not say it.
    """

    def __init__(self, text: str, revision: int = 0) -> None:
        super().__init__(text, Code.OUT_OF_RANGE)
        self.revision = revision


class FutureRevision(EtcdError):
    """A revision that does not exist yet."""


class LeaseNotFound(EtcdError):
    """A lease that was revoked, is over, or never was."""


class Unauthenticated(EtcdError):
    """etcd or this client does not accept the other's certificate, or etcd wants a password."""


class PermissionDenied(EtcdError):
    """The user may not do that."""


class Corrupt(EtcdError):
    """The data of the members differ."""


class WatchCancelled(EtcdError):
    """etcd ended a watch and the history is not the reason."""


class Rejected(EtcdError):
    """etcd does not take the request, for a reason that has no class here."""


_COMPACTED = "etcdserver: mvcc: required revision has been compacted"
_BY_TEXT: dict[str, type[EtcdError]] = {
    "etcdserver: mvcc: required revision is a future revision": FutureRevision,
    "etcdserver: mvcc: database space exceeded": NoSpace,
    "etcdserver: requested lease not found": LeaseNotFound,
    "etcdserver: request is too large": TooLarge,
    "etcdserver: too many requests": TooManyRequests,
    "etcdserver: authentication failed, invalid user ID or password": Unauthenticated,
    "etcdserver: user name is empty": Unauthenticated,
    "etcdserver: not leader": Unavailable,
    "etcdserver: not capable": Unavailable,
    "etcdserver: rpc not supported for learner": Unavailable,
}
_BY_CODE: dict[Code, type[EtcdError]] = {
    Code.UNAVAILABLE: Unavailable,
    Code.CANCELLED: Unavailable,
    Code.DEADLINE_EXCEEDED: TimedOut,
    Code.RESOURCE_EXHAUSTED: TooLarge,
    Code.UNAUTHENTICATED: Unauthenticated,
    Code.PERMISSION_DENIED: PermissionDenied,
    Code.DATA_LOSS: Corrupt,
}
_CODES = frozenset(Code)
# Said before a request is proposed to the members, so that it is not carried out.
_NOT_BEGUN = frozenset({
    "etcdserver: no leader",
    "etcdserver: not leader",
    "etcdserver: not capable",
    "etcdserver: rpc not supported for learner",
})  # fmt: skip
_UNDECIDED = frozenset(
    {Code.UNAVAILABLE, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN, Code.INTERNAL}
)


def error_of(code: int, text: str) -> EtcdError:
    """Return the error that a status other than OK stands for.

    Args:
        code: gRPC's status; one that gRPC does not have is `Code.UNKNOWN`.
        text: etcd's message.
    """
    known = Code(code) if code in _CODES else Code.UNKNOWN
    if text == _COMPACTED:
        return Compacted(text)
    made = _BY_TEXT.get(text) or _BY_CODE.get(known, Rejected)
    return made(text, known, undecided=known in _UNDECIDED and text not in _NOT_BEGUN)
