"""Which owners of a kind select what has no owner, and which have what has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.informers.informer import Item
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector
from kubetrio.schema.kind import Kind

Object = dict[str, Any]


def label_selector(owner: Object) -> Selector:
    """Return what an owner selects by ``spec.selector``, a ``LabelSelector``.

    Raises:
        ValueError: it is none.
    """
    return from_label_selector(owner["spec"].get("selector"))


def owners_of(*pods: Pod | None) -> Iterator[str]:
    """Yield namespaces and names of the controllers that pods have."""
    for pod in pods:
        if pod is not None and pod.owner is not None:
            yield f"{pod.namespace}/{pod.owner.name}"


class OwnerSelectors:
    """The selectors of the owners of one kind, parsed once for each change of an owner.

    Args:
        kind: of the owners.
        selector: what an owner selects; it may raise `ValueError`, and then that is nothing.
    """

    def __init__(self, kind: Kind, selector: Callable[[Object], Selector] = label_selector) -> None:
        self._kind = kind
        self._selector = selector
        self._selectors: dict[str, Selector] = {}  # by storage key

    def note(self, old: Item | None, new: Item | None) -> str | None:
        """Take a change of an owner; return its namespace and name, None when it is gone."""
        if new is None:
            if old is not None:
                self._selectors.pop(old.key, None)
            return None
        try:
            self._selectors[new.key] = self._selector(new.object)
        except ValueError:
            self._selectors[new.key] = NOTHING
        return self._name(new)

    def of(self, namespace: str, name: str) -> Selector:
        """The selector of an owner that is there."""
        return self._selectors[self._kind.key(namespace, name)]

    def selecting(self, owners: Iterable[Item], labels: Mapping[str, str]) -> Iterator[str]:
        """Yield namespaces and names of those owners that select what has some labels."""
        for owner in owners:
            if self._selectors[owner.key].matches(labels):
                yield self._name(owner)

    def _name(self, owner: Item) -> str:
        return owner.key.removeprefix(self._kind.storage_prefix)
