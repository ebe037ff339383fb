"""Pods by their owner, and those without one by namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.informers.digests import Digests

Told = Callable[[Pod | None, Pod | None], None]
"""Told of the pod that was and of the one that is, each None if there is none."""
_Place = tuple[dict[str, dict[str, Pod]], str]


class OwnedPods:
    """The pods that owners of one kind have, and orphans.

    Args:
        kind: of the owners.
        pods: all there are.
        told: of what changed for an owner of the kind or for an orphan; it must return at once.
    """

    def __init__(self, kind: str, pods: Digests[Pod], told: Told) -> None:
        self._kind = kind
        self._told = told
        self._owned: dict[str, dict[str, Pod]] = {}
        self._orphans: dict[str, dict[str, Pod]] = {}
        self.pods = pods
        pods.on_change(self._changed)

    def of(self, uid: str) -> list[Pod]:
        """The pods of an owner, by name."""
        return _by_name(self._owned.get(uid, {}))

    def count(self, uid: str) -> int:
        """How many pods an owner has."""
        return len(self._owned.get(uid, ()))

    def orphans(self, namespace: str) -> list[Pod]:
        """The pods of a namespace that have no controller, by name."""
        return _by_name(self._orphans.get(namespace, {}))

    def _place(self, pod: Pod | None) -> _Place | None:
        """Where a pod is kept: the table and the key in it."""
        if pod is None:
            return None
        if pod.owner is None:
            return self._orphans, pod.namespace
        return (self._owned, pod.owner.uid) if pod.owner.kind == self._kind else None

    def _changed(self, _namespace: str, _name: str, old: Pod | None, new: Pod | None) -> None:
        was, is_ = self._place(old), self._place(new)
        # A pod that stays keeps its place in the table, which so is nearly in order.
        if old is not None and was is not None and not _same(was, is_):
            table, key = was
            left = table.get(key, {})
            left.pop(old.name, None)
            if not left:
                table.pop(key, None)
        if new is not None and is_ is not None:
            table, key = is_
            table.setdefault(key, {})[new.name] = new
        if old != new and (was is not None or is_ is not None):
            self._told(old if was is not None else None, new if is_ is not None else None)


def _same(was: _Place, is_: _Place | None) -> bool:
    return is_ is not None and was[0] is is_[0] and was[1] == is_[1]


def _by_name(pods: Mapping[str, Pod]) -> list[Pod]:
    return [pods[name] for name in sorted(pods)]
