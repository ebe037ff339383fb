"""Values and lists of a strategic merge patch: what tells items apart, and their order.

Messages print values as Go does, since kube-apiserver puts whole objects into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kubetrio.machinery.fielderrors import format_value
from kubetrio.machinery.status import ApiError

Json = dict[str, Any]

PATCH = "$patch"
"""Directive of an object or of an item."""
GONE = object()
"""What :func:`without_directives` makes of an object that is a directive."""
MAP, LIST = "map[string]interface {}", "[]interface {}"
"""Go types of objects and lists."""
_REJECTED = "the server rejected our request due to an error in our request"
_FEW = 20  # up to here Go's sort is an insertion sort


def failed(message: str) -> ApiError:
    """An error that kube-apiserver has no status for."""
    return ApiError(500, "", message)


def panicked() -> ApiError:
    """What is answered where kube-apiserver panics: objects where scalars are compared."""
    return failed("This request caused apiserver to panic. Look in the logs for details.")


def bad_type(wanted: str, value: Any) -> ApiError:
    """A value of another Go type than ``wanted``."""
    given = "%!s(<nil>)" if value is None else go_type(value)
    return failed(f"expected a {wanted}, but received a {given}")


def no_merge_key(item: Json, key: str) -> ApiError:
    """An item of a merging list that cannot be told apart from others."""
    return failed(f"map: {go_text(item)} does not contain declared merge key: {key}")


def bad_directive(directive: Any, patch: Json) -> ApiError:
    """A value of ``$patch`` that means nothing here."""
    return failed(f"unknown patch type: {_verb_s(directive)} in map: {go_text(patch)}")


def go_text(value: Any) -> str:
    """A value as Go's ``%v`` prints it."""
    return _printed(value, format_value)


def _verb_s(value: Any) -> str:
    """A value as Go's ``%s`` prints it."""
    return "%!s(<nil>)" if value is None else _printed(value, _bad_verb)


def _bad_verb(value: Any) -> str:
    return f"%!s({go_type(value)}={format_value(value)})"


def _printed(value: Any, scalar: Callable[[Any], str]) -> str:
    """A value as Go prints it, given how it prints what is neither a container nor a string."""
    out: list[str] = []
    # Values to print, with the text to print before each; a container leaves its end behind.
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        before, item = waiting.pop()
        out.append(before)
        if isinstance(item, dict):
            out.append("map[")
            names = sorted(item)
            waiting.append(("]", _END))
            waiting += [(f" {name}:", item[name]) for name in reversed(names[1:])]
            waiting += [(f"{name}:", item[name]) for name in names[:1]]
        elif isinstance(item, list):
            out.append("[")
            waiting.append(("]", _END))
            waiting += [(" ", inner) for inner in reversed(item[1:])]
            waiting += [("", inner) for inner in item[:1]]
        elif item is None:
            out.append("<nil>")
        elif item is not _END:
            out.append(item if isinstance(item, str) else scalar(item))
    return "".join(out)


_END = object()


def go_type(value: Any) -> str:
    """The Go type that a JSON value is decoded to."""
    if isinstance(value, dict):
        return MAP
    if isinstance(value, list):
        return LIST
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return "int64"
    return "nil" if value is None else "float64"


def identity(value: Any) -> tuple[str, Any]:
    """What tells scalars apart: 1, 1.0, true and "1" are four.

    Raises:
        ApiError: 500, it is an object or a list.
    """
    if isinstance(value, (dict, list)):
        raise panicked()
    return go_type(value), value


def discard_nulls(value: Any) -> None:
    """Remove null members of objects, in place and at any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key in [key for key, inner in item.items() if inner is None]:
                del item[key]
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def without_directives(value: Any) -> Any:
    """The value without objects that have ``$patch``, or ``GONE`` if it is one.

    Args:
        value: objects in it are changed in place, lists are new.
    """
    out: list[Any] = [value]
    waiting: list[Any] = [out]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            for key in [key for key, item in holder.items() if _is_directive(item)]:
                del holder[key]
            places = list(holder.items())
        else:
            holder[:] = [item for item in holder if not _is_directive(item)]
            places = list(enumerate(holder))
        for place, item in places:
            if isinstance(item, list):
                holder[place] = item = list(item)
            if isinstance(item, (dict, list)):
                waiting.append(item)
    return out[0] if out else GONE


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and PATCH in value


def item_type(*lists: list[Any]) -> str:
    """The one Go type of all items.

    Raises:
        ApiError: 422 they are lists; 500 they differ, or there are none.
    """
    types = [go_type(item) for items in lists for item in items]
    if not types:
        raise failed("no elements in any of the given slices")
    if types[0] == "nil":
        raise panicked()
    if types[0] == LIST:
        raise ApiError(422, "Invalid", _REJECTED, {})
    if any(each != types[0] for each in types):
        raise failed(f"list element types are not identical: {go_text(list(lists))}")
    return types[0]


def member(item: Any, key: str) -> Any:
    """The merge key's value of an item.

    Raises:
        ApiError: 500, it is not an object or has no such member.
    """
    if not isinstance(item, dict):
        raise bad_type(MAP, item)
    if key not in item:
        raise no_merge_key(item, key)
    return item[key]


class Places:
    """Where in a list each item first is.

    Args:
        items: the list.
        key: merge key of items that are objects; without one, items are scalars.

    Raises:
        ApiError: 500, what should be scalars are not.
    """

    def __init__(self, items: Iterable[Any], key: str) -> None:
        self._at: dict[tuple[str, Any], int] = {}
        self._key = key
        self._strange: int | None = None
        for place, item in enumerate(items):
            if key and not isinstance(item, dict):
                self._strange = place
                break
            if not key or key in item:
                self.add(item, place)

    def _identity(self, item: Any) -> tuple[str, Any]:
        return identity(item[self._key] if self._key else item)

    def add(self, item: Any, place: int) -> None:
        """Note an item that has its merge key, unless an equal one is there."""
        self._at.setdefault(self._identity(item), place)

    def find(self, item: Any) -> int | None:
        """The place of an item that has its merge key, or None.

        Raises:
            ApiError: 500, an item of the list is not an object and none before it matches.
        """
        place = self._at.get(self._identity(item))
        if place is None and self._strange is not None:
            raise failed(f"value for key {self._strange} is not a map.")
        return place


def sort_items(items: list[Any], order: list[Any], key: str) -> list[Any]:
    """Items in the order of another list.

    Args:
        items: to sort.
        order: the other list.
        key: merge key of items that are objects, else empty.

    Raises:
        ApiError: 500, an item of either lacks the merge key.
    """
    if key:
        for item in (*items, *order):
            member(item, key)
    places = Places(order, key)
    ranks = [places.find(item) for item in items]
    if None not in ranks or len(items) > _FEW:
        keyed = [(len(order) if r is None else r, at) for at, r in enumerate(ranks)]
        return [items[at] for _, at in sorted(keyed)]
    # kube-apiserver's comparison is no order where the other list does not name an item; the
    # result is what its insertion sort makes of it.
    out: list[tuple[int | None, Any]] = []
    for rank, item in zip(ranks, items, strict=True):
        at = len(out)
        while at and _before(rank, out[at - 1][0]):
            at -= 1
        out.insert(at, (rank, item))
    return [item for _, item in out]


def _before(rank: int | None, other: int | None) -> bool:
    return rank is None or other is None or rank < other


def arrange(merged: list[Any], order: list[Any], server: list[Any], key: str) -> list[Any]:
    """Put a merged list into order.

    Args:
        merged: the items.
        order: the items it names come in its order.
        server: the others come in the order of this list, each before the named ones that this
            list has after it.
        key: merge key of items that are objects, else empty.

    Raises:
        ApiError: 500, an item of any list lacks the merge key.
    """
    if key:
        for item in merged:
            member(item, key)
    target_places = Places(order, key)
    named = [target_places.find(item) is not None for item in merged]
    right = sort_items([i for i, yes in zip(merged, named, strict=True) if yes], order, key)
    left = sort_items([i for i, yes in zip(merged, named, strict=True) if not yes], server, key)
    places = Places(server, key)
    out = []
    at = 0
    for item in right:
        place = places.find(item)
        while at < len(left) and place is not None:
            other = places.find(left[at])
            if other is None or other >= place:
                break
            out.append(left[at])
            at += 1
        out.append(item)
    return out + left[at:]
