"""Watches by the kind they are about: they end when that is served no more.

kube-apiserver tears down what serves a custom resource when its definition goes or changes, and
the watches on it with that; clients come back and find what is served then.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import trio

from kubetrio.api.encoding.cache import ByteCache
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry, Registry, gone


class Scopes(set[trio.CancelScope]):
    """Cancel scopes of the watches on one kind; those of all streams have them too.

    Args:
        streams: all of them.
    """

    def __init__(self, streams: set[trio.CancelScope]) -> None:
        super().__init__()
        self._streams = streams

    def add(self, scope: trio.CancelScope) -> None:
        """Note a watch that began."""
        super().add(scope)
        self._streams.add(scope)

    def discard(self, scope: object) -> None:
        """Forget a watch that ended."""
        super().discard(scope)
        self._streams.discard(scope)


class KindStreams:
    """What a server keeps of kinds beside their values, until they go.

    Args:
        registry: tells when they do.
        streams: where all streams are.
        cache: encoded objects, some of them of kinds that are gone.
    """

    def __init__(
        self, registry: LiveRegistry, streams: set[trio.CancelScope], cache: ByteCache
    ) -> None:
        self._streams = streams
        self._cache = cache
        self._scopes: WeakKeyDictionary[Kind, Scopes] = WeakKeyDictionary()
        registry.subscribe(self._changed)

    def of(self, kind: Kind) -> Scopes:
        """Where the watches on a kind are."""
        scopes = self._scopes.get(kind)
        if scopes is None:
            scopes = self._scopes[kind] = Scopes(self._streams)
        return scopes

    def _changed(self, before: Registry, after: Registry) -> None:
        ended = gone(before, after)
        if ended:
            self._cache.clear()
        for kind in ended:
            for scope in tuple(self._scopes.pop(kind, ())):
                scope.cancel()
