"""Caches whose size is bounded in bytes, because clients choose the keys; and how full they are.

A cache of the whole process makes itself known here once, where it is made; nothing is counted
until it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

Text = TypeVar("Text", str, bytes)
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")


class CacheSize(NamedTuple):
    """How full a cache is.

    Args:
        place: module of the cache, below the package: ``api/request``.
        entries: how many are kept.
        size: bytes of what clients chose of them, None where it is not known.
    """

    place: str
    entries: int
    size: int | None


class Cached(Protocol):
    """A function that `functools.lru_cache` made."""

    __module__: str

    def cache_info(self) -> Any:
        """Numbers of the cache."""
        ...


C = TypeVar("C", bound=Cached)
_KNOWN: list[Callable[[], CacheSize]] = []


def place_of(module: str) -> str:
    """Name of a module's caches in metrics.

    Args:
        module: dotted, with the package.
    """
    return module.partition(".")[2].replace(".", "/").removesuffix("/__init__")


def counted(function: C) -> C:
    """Make the cache of a function known; decorates what `functools.lru_cache` made."""
    place = place_of(function.__module__)
    _KNOWN.append(lambda: CacheSize(place, function.cache_info().currsize, None))
    return function


def counted_map(
    module: str, entries: Mapping[Any, Any], size: Callable[[Any], int] | None = None
) -> None:
    """Make a mapping known that is a cache.

    Args:
        module: where it is, dotted.
        entries: it.
        size: bytes of one of its keys, None where it is not known.
    """
    place = place_of(module)

    def fill() -> CacheSize:
        # Threads may add to it meanwhile: a copy of its keys is made in one step.
        keys = tuple(entries)
        return CacheSize(place, len(keys), None if size is None else sum(map(size, keys)))

    _KNOWN.append(fill)


def counted_by(module: str, entries: Callable[[], int]) -> None:
    """Make a cache known that is in many places.

    Args:
        module: where it is filled, dotted.
        entries: counts what is kept.
    """
    place = place_of(module)
    _KNOWN.append(lambda: CacheSize(place, entries(), None))


def fills() -> Iterator[CacheSize]:
    """How full each known cache is, now."""
    for ask in tuple(_KNOWN):
        yield ask()


def remembered(entries: int, longest: int) -> Callable[[Callable[[Text], R]], Callable[[Text], R]]:
    """Remember what a function of one text returns, for texts up to a length.

    Longer texts are worked out each time: a client could fill the cache with them.  A full cache
    begins anew, so that what is asked often pays for no order of use.

    Args:
        entries: how many results are kept.
        longest: characters or bytes of a text whose result is kept.
    """

    def decorate(function: Callable[[Text], R]) -> Callable[[Text], R]:
        results = _Results(function, entries, longest)
        counted_map(function.__module__, results, len)
        return results.__getitem__  # no call of Python for a hit

    return decorate


def keep(memory: dict[K, V], key: K, value: V, entries: int, longest: int) -> V:
    """Remember a value, unless the texts of its key are long; a full memory begins anew.

    Args:
        memory: what is remembered.
        key: a text, or a tuple of texts and of tuples of them; what else is in it has no length.
        value: for it.
        entries: how many are kept.
        longest: characters of the texts of a key that is kept, in all.

    Returns:
        The value.
    """
    if chars(key) <= longest:
        if len(memory) >= entries:
            memory.clear()
        memory[key] = value
    return value


def chars(key: object) -> int:
    """Characters of the texts in a key, as `keep` counts them."""
    if isinstance(key, str):
        return len(key)
    return sum(map(chars, key)) if isinstance(key, tuple) else 0


class _Results(dict[Text, R], Generic[Text, R]):
    """Results by text, worked out when they are missing."""

    def __init__(self, function: Callable[[Text], R], entries: int, longest: int) -> None:
        super().__init__()
        self._function: Callable[[Text], R] = function
        self._entries = entries
        self._longest = longest

    def __missing__(self, text: Text) -> R:
        result = self._function(text)
        if len(text) <= self._longest:
            if len(self) >= self._entries:
                self.clear()
            self[text] = result
        return result
