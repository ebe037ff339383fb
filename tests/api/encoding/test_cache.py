"""The cache of encoded objects: bounded, least recently used go first."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.api.encoding.cache import ByteCache


def test_a_value_is_made_once() -> None:
    """As long as it is kept."""
    cache, made = ByteCache(100), []

    def make() -> bytes:
        made.append(1)
        return b"value"

    assert [cache.get(("json", b"key"), make) for _ in range(3)] == [b"value"] * 3
    assert len(made) == 1


def test_keys_and_values_count() -> None:
    """Both are held."""
    cache = ByteCache(100)
    cache.get(("json", b"1234"), lambda: b"123456")
    assert cache.bytes == 10


def test_the_least_recently_used_goes_first() -> None:
    """Looking at an entry keeps it."""
    cache = ByteCache(30)
    for key in (b"a" * 5, b"b" * 5, b"c" * 5):
        cache.get(("x", key), lambda: b"v" * 5)
    cache.get(("x", b"a" * 5), lambda: b"never")
    cache.get(("x", b"d" * 5), lambda: b"v" * 5)
    made: list[bytes] = []

    def again() -> bytes:
        made.append(b"again")
        return b""

    for key in (b"a" * 5, b"c" * 5, b"d" * 5):
        cache.get(("x", key), again)
    assert made == []
    assert cache.get(("x", b"b" * 5), lambda: b"new") == b"new"


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    """It is answered all the same."""
    cache = ByteCache(10)
    assert cache.get(("x", b"k"), lambda: b"v" * 50) == b"v" * 50
    assert cache.bytes == 0


@settings(max_examples=60)
@given(
    bound=st.integers(0, 60),
    asked=st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=20)), max_size=40),
)
def test_the_bound_holds_and_answers_are_right(bound: int, asked: list[tuple[int, bytes]]) -> None:
    """Whatever is asked for in which order: a function of its key, within so many bytes."""
    cache = ByteCache(bound)
    for shape, key in asked:
        wanted = key[::-1] + b"%d" % shape
        assert cache.get((shape, key), lambda wanted=wanted: wanted) == wanted  # type: ignore[misc]
        assert 0 <= cache.bytes <= bound
