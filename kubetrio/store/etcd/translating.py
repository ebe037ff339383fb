"""Errors of etcd as errors of a store: what they say, and whether a write may have been made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubetrio.store.errors import EngineFailed, StoreFull
from kubetrio.store.etcd.errors import EtcdError, NoSpace, TimedOut

OWN = "etcdserver: "
"""Begins etcd's own texts, which a client of it shows as they are."""


def text_of(error: EtcdError) -> str:
    """Return what a client in Go says of an error.

    Args:
        error: of a call.

    Source: go.etcd.io/etcd/client/v3 (toErr); google.golang.org/grpc/internal/status (Error).
    """
    text = str(error)
    if text.startswith(OWN):
        return text
    code = "".join(word.capitalize() for word in error.code.name.split("_"))
    return f"rpc error: code = {code} desc = {text}"


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of etcd as those of a store.

    Raises:
        StoreFull: etcd's database has reached its quota.
        EngineFailed: etcd fails otherwise.
    """
    try:
        yield
    except NoSpace as error:
        raise StoreFull from error
    except EtcdError as error:
        raise EngineFailed(
            text_of(error), timed_out=isinstance(error, TimedOut), undecided=error.undecided
        ) from error
