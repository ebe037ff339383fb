"""Errors of etcd, as the store and its callers see them."""

from __future__ import annotations

import pytest

from kubetrio.store.errors import EngineFailed, StoreFull
from kubetrio.store.etcd.errors import Code, TimedOut, Unavailable, error_of
from kubetrio.store.etcd.translating import text_of, translated


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (14, "etcdserver: no leader", "etcdserver: no leader"),
        (14, "the connection broke", "rpc error: code = Unavailable desc = the connection broke"),
        (8, "no room", "rpc error: code = ResourceExhausted desc = no room"),
    ],
)
def test_texts_are_those_of_a_client_in_go(code: int, text: str, said: str) -> None:
    """Etcd's own as they are, others with the name of their code."""
    assert text_of(error_of(code, text)) == said


@pytest.mark.parametrize("undecided", [True, False])
@pytest.mark.parametrize("kind", [TimedOut, Unavailable])
def test_what_came_of_a_write_is_kept(
    kind: type[TimedOut | Unavailable], *, undecided: bool
) -> None:
    """Whether it may have been made, and whether time was the reason."""
    with pytest.raises(EngineFailed, match="gone") as failure, translated():
        raise kind("gone", Code.UNAVAILABLE, undecided=undecided)
    assert failure.value.undecided is undecided
    assert failure.value.timed_out is (kind is TimedOut)


def test_a_full_database() -> None:
    """Is a full store."""
    with pytest.raises(StoreFull), translated():
        raise error_of(8, "etcdserver: mvcc: database space exceeded")
